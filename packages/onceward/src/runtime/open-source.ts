import type { SourceDeclaration } from '../contract/contract.ts'
import type { Source } from '../contracts/source.ts'
import type { Publisher } from '../effects/publish/publisher.ts'
import { OncewardError } from '../errors.ts'
import type { SqlPool } from '../stores/postgres/pool.ts'
import type { Surroundings } from '../surroundings.ts'
import { rabbitAddress } from './broker-addresses.ts'
import { importRabbit } from './broker-clients.ts'
import type { BrokerSecurity } from './broker-security.ts'
import { openKafka } from './open-kafka.ts'
import { openRabbitPublisher } from './open-publisher.ts'

/** What a broker kind needs to be opened. */
export interface BrokerAccess extends BrokerSecurity {
  readonly pool: SqlPool
  /** RabbitMQ's address, when the declaration carries none. */
  readonly rabbitmqUrl?: string | undefined
  /** Kafka's bootstrap list, when the declaration carries none. */
  readonly kafkaBootstrap?: string | undefined
  /** The address of RabbitMQ's stream protocol, when the declaration carries none. */
  readonly rabbitmqStreamUrl?: string | undefined
  readonly world: Surroundings
}

export interface Broker {
  readonly source: Source
  /** Makes sure that a queue for dead letters exists, so that a mandatory publish can be routed. */
  ensureQueue(name: string): Promise<void>
  /** Makes sure that the delay levels exist, and answers with those that are read apart from the source. */
  openRetryLevels?(levelsMs: readonly number[]): Promise<readonly Source[]>
  /** For the messages that go to the broker the consumer reads from. */
  openPublisher(): Promise<Publisher | 'same database'>
}

/** From a plain declaration to the driver; a broker's client is loaded only when a contract names it. */
export async function openBroker(declaration: SourceDeclaration, access: BrokerAccess): Promise<Broker> {
  switch (declaration.kind) {
    case 'postgres':
      return openPostgres(declaration, access)
    case 'rabbitmq':
      return openRabbit(declaration, access)
    case 'kafka':
      return openKafka(declaration, access)
    case 'rabbitmq-stream':
      return openRabbitStream(declaration, access)
    case 'file':
      return openFile(declaration, access)
    default:
      throw new OncewardError(
        'configuration',
        `No driver for source kind "${declaration.kind}". This version knows postgres, rabbitmq, rabbitmq-stream, kafka and file. Nothing was started.`,
      )
  }
}

async function openPostgres(declaration: SourceDeclaration, { pool, world }: BrokerAccess): Promise<Broker> {
  const { createPostgresSource, createQueue } = await import('../sources/postgres/index.ts')
  await createQueue(pool, (declaration as SourceDeclaration & { queue: string }).queue)
  return {
    source: createPostgresSource(declaration as never, { pool, log: world.log, reach: world.reach }),
    ensureQueue: async name => void (await createQueue(pool, name)),
    openPublisher: async () => 'same database',
  }
}

async function openRabbit(declaration: SourceDeclaration, access: BrokerAccess): Promise<Broker> {
  const { world } = access
  const url = rabbitAddress(declaration as { url?: string }, access.rabbitmqUrl, access)
  if (url === undefined) {
    throw new OncewardError(
      'configuration',
      'The contract reads from RabbitMQ, but no address is known. Set ONCEWARD_RABBITMQ_URL. Nothing was started.',
    )
  }
  const rabbit = await importRabbit()
  return {
    source: rabbit.createRabbitSource({ ...declaration, url } as never, { log: world.log }),
    ensureQueue: name => rabbit.ensureDeadLetterQueue(url, name),
    openRetryLevels: async levelsMs => {
      const { queue } = declaration as SourceDeclaration & { queue: string }
      await rabbit.ensureRetryLevels(url, queue, levelsMs)
      return []
    },
    openPublisher: () => openRabbitPublisher(url),
  }
}

/** Streams are read over a protocol of their own; dead letters go to a queue, over AMQP. */
async function openRabbitStream(declaration: SourceDeclaration, access: BrokerAccess): Promise<Broker> {
  const url = rabbitAddress(declaration as { url?: string }, access.rabbitmqStreamUrl, access)
  const rabbitmqUrl = rabbitAddress({}, access.rabbitmqUrl, access)
  if (url === undefined) {
    throw new OncewardError(
      'configuration',
      'The contract reads a RabbitMQ stream, but no address is known. Set ONCEWARD_RABBITMQ_STREAM_URL. Nothing was started.',
    )
  }
  const { createStreamSource } = await import('../sources/rabbitmq-stream/index.ts')
  const deadLetterUrl = () => {
    if (rabbitmqUrl !== undefined) return rabbitmqUrl
    throw new OncewardError(
      'configuration',
      'The dead letters of a stream go to a RabbitMQ queue, but its AMQP address is not known. Set ONCEWARD_RABBITMQ_URL. Nothing was started.',
    )
  }
  return {
    source: createStreamSource({ ...declaration, url } as never),
    ensureQueue: async name => (await importRabbit()).ensureDeadLetterQueue(deadLetterUrl(), name),
    openPublisher: async () => openRabbitPublisher(deadLetterUrl()),
  }
}

async function openFile(declaration: SourceDeclaration, { world }: BrokerAccess): Promise<Broker> {
  const { createFileSource } = await import('../sources/file/index.ts')
  const refuse = () =>
    Promise.reject(
      new OncewardError(
        'configuration',
        'A file cannot take dead letters: they stay in the store. Take failure.deadLetter out of the contract. Nothing was started.',
      ),
    )
  return {
    source: createFileSource(declaration as never, { world }),
    ensureQueue: refuse,
    openPublisher: refuse,
  }
}
