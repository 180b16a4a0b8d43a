import type { SourceDeclaration } from '../contract/contract.ts'
import { OncewardError } from '../errors.ts'
import type { Broker, BrokerAccess } from './broker.ts'
import { openKafka } from './open-kafka.ts'
import { openRabbit } from './open-rabbitmq.ts'
import { openStream } from './open-stream.ts'

const drivers: Readonly<
  Record<string, (declaration: SourceDeclaration, access: BrokerAccess) => Promise<Broker>>
> = {
  postgres: openPostgres,
  rabbitmq: openRabbit,
  'rabbitmq-stream': openStream,
  kafka: openKafka,
}

/** From a plain declaration to the driver; a broker's client is loaded only when a contract names it. */
export async function openBroker(declaration: SourceDeclaration, access: BrokerAccess): Promise<Broker> {
  const open = Object.hasOwn(drivers, declaration.kind) ? drivers[declaration.kind] : undefined
  if (open !== undefined) return open(declaration, access)
  throw new OncewardError(
    'configuration',
    `No driver for source kind "${declaration.kind}". This version knows ${Object.keys(drivers).join(', ')}. Nothing was started.`,
  )
}

async function openPostgres(declaration: SourceDeclaration, { pool, world }: BrokerAccess): Promise<Broker> {
  const { createPostgresSource, createQueue } = await import('../sources/postgres/index.ts')
  const { createPostgresPublisher } = await import('../effects/publish/postgres-publisher.ts')
  await createQueue(pool, (declaration as SourceDeclaration & { queue: string }).queue)
  return {
    source: createPostgresSource(declaration as never, { pool, log: world.log, reach: world.reach }),
    ensureQueue: async name => void (await createQueue(pool, name)),
    openPublisher: async () => createPostgresPublisher(pool),
  }
}
