import type { SourceDeclaration } from '../contract/contract.ts'
import { rabbitAddress } from '../drivers/broker-addresses.ts'
import type { BrokerSecurity } from '../drivers/broker-security.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import { addressOf, virtualHostOf } from '../drivers/rabbitmq/address.ts'
import { readAddress } from '../drivers/rabbitmq-stream/address.ts'
import type { Environment } from '../environment.ts'
import { OncewardError } from '../errors.ts'
import type { Publisher } from '../ports/publisher.ts'
import type { Source } from '../ports/source.ts'
import { importRabbit } from './broker-clients.ts'
import { clusterOf } from './cluster-of.ts'
import { openKafka } from './open-kafka.ts'
import { type OnPublisherBroker, openRabbitPublisher } from './open-publisher.ts'

/** Options to open a broker. */
export interface BrokerAccess extends BrokerSecurity {
  readonly pool: SqlPool
  /** RabbitMQ's address, when the declaration has none. */
  readonly rabbitmqUrl?: string | undefined
  /** Kafka's bootstrap list, when the declaration has none. */
  readonly kafkaBootstrap?: string | undefined
  /** The address of RabbitMQ's stream protocol, when the declaration has none. */
  readonly rabbitmqStreamUrl?: string | undefined
  /** Cluster names for the addresses above. */
  readonly rabbitmqCluster?: string | undefined
  readonly kafkaCluster?: string | undefined
  readonly env: Environment
  /** Aborts an `open` that is still connecting. */
  readonly signal?: AbortSignal | undefined
}

export interface Broker {
  readonly source: Source
  /** Ensures that the queue for dead letters exists, so that a mandatory publish can be routed. */
  ensureQueue(name: string): Promise<void>
  /** Ensures that the delay levels exist, and returns the sources of those read beside the source. */
  openRetryLevels?(levelsMs: readonly number[]): Promise<readonly Source[]>
  /**
   * Logs: number of unread records of a delay level; null when the level does not exist.
   */
  copiesIn?(
    levelMs: number,
    consumer: { readonly name: string; readonly generation: number },
  ): Promise<number | null>
  /** For messages to the broker that the consumer reads from. */
  openPublisher(onBroker: OnPublisherBroker): Promise<Publisher | 'same database'>
  /** Virtual host of the source; '' when the broker has none. */
  readonly virtualHost: string
  /** The address of `openPublisher`. */
  readonly outlet?: OutletAddress | undefined
}

/** The address that messages for one kind of broker are sent to. */
export interface OutletAddress {
  /** Without credentials. */
  readonly address: string
  /** RabbitMQ. */
  readonly virtualHost?: string
  /** The configured cluster name, if any. */
  readonly cluster?: string | undefined
}

/** Opens the driver of a declaration; loads a broker's client only when a contract names it. */
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

async function openPostgres(declaration: SourceDeclaration, { pool, env }: BrokerAccess): Promise<Broker> {
  const { createPostgresSource, createQueue } = await import('../drivers/postgres/queue/index.ts')
  await createQueue(pool, (declaration as SourceDeclaration & { queue: string }).queue)
  return {
    source: createPostgresSource(declaration as never, { pool, log: env.log, reach: env.reach }),
    ensureQueue: async name => void (await createQueue(pool, name)),
    openPublisher: async () => 'same database',
    virtualHost: '',
  }
}

async function openRabbit(declaration: SourceDeclaration, access: BrokerAccess): Promise<Broker> {
  const { env, signal, rabbitmqCluster } = access
  const url = rabbitAddress(declaration as { url?: string }, access.rabbitmqUrl, access)
  if (url === undefined) {
    throw new OncewardError(
      'configuration',
      'The contract reads from RabbitMQ, but no address is configured. Set ONCEWARD_RABBITMQ_URL. Nothing was started.',
    )
  }
  const rabbit = await importRabbit()
  return {
    source: rabbit.createRabbitSource({ ...declaration, url } as never, {
      log: env.log,
      ...(signal && { signal }),
    }),
    ensureQueue: name => rabbit.ensureDeadLetterQueue(url, name, signal),
    openRetryLevels: async levelsMs => {
      const { queue } = declaration as SourceDeclaration & { queue: string }
      await rabbit.ensureRetryLevels(url, queue, levelsMs, signal)
      return []
    },
    openPublisher: onBroker => openRabbitPublisher(url, onBroker),
    virtualHost: virtualHostOf(url),
    outlet: rabbitOutlet(url, clusterOf(declaration, 'url', rabbitmqCluster)),
  }
}

export function rabbitOutlet(url: string, cluster: string | undefined): OutletAddress {
  return { address: addressOf(url), virtualHost: virtualHostOf(url), cluster }
}

/** Streams are read over the stream protocol; dead letters go to a queue, over AMQP. */
async function openRabbitStream(declaration: SourceDeclaration, access: BrokerAccess): Promise<Broker> {
  const { signal, rabbitmqCluster } = access
  const url = rabbitAddress(declaration as { url?: string }, access.rabbitmqStreamUrl, access)
  const rabbitmqUrl = rabbitAddress({}, access.rabbitmqUrl, access)
  if (url === undefined) {
    throw new OncewardError(
      'configuration',
      'The contract reads a RabbitMQ stream, but no address is configured. Set ONCEWARD_RABBITMQ_STREAM_URL. Nothing was started.',
    )
  }
  const { createStreamSource } = await import('../drivers/rabbitmq-stream/index.ts')
  const deadLetterUrl = () => {
    if (rabbitmqUrl !== undefined) return rabbitmqUrl
    throw new OncewardError(
      'configuration',
      'The dead letters of a stream go to a RabbitMQ queue, but no AMQP address is configured. Set ONCEWARD_RABBITMQ_URL. Nothing was started.',
    )
  }
  return {
    source: createStreamSource({ ...declaration, url } as never, signal && { signal }),
    ensureQueue: async name => (await importRabbit()).ensureDeadLetterQueue(deadLetterUrl(), name, signal),
    openPublisher: async onBroker => openRabbitPublisher(deadLetterUrl(), onBroker),
    virtualHost: readAddress(url, 'The stream').vhost,
    outlet: rabbitmqUrl === undefined ? undefined : rabbitOutlet(rabbitmqUrl, rabbitmqCluster),
  }
}

async function openFile(declaration: SourceDeclaration, { env }: BrokerAccess): Promise<Broker> {
  const { createFileSource } = await import('../drivers/file/index.ts')
  const refuse = () =>
    Promise.reject(
      new OncewardError(
        'configuration',
        'A file source cannot receive dead letters: they stay in the store. Remove failure.deadLetter from the contract. Nothing was started.',
      ),
    )
  return {
    source: createFileSource(declaration as never, { env }),
    ensureQueue: refuse,
    openPublisher: refuse,
    virtualHost: '',
  }
}
