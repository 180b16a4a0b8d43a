import type { Consumer } from '../contract/define-consumer.ts'
import type { SqlTransaction } from '../contract/handler.ts'
import { readDefaultDestination, readLastRun } from '../drivers/postgres/outbox/find-destination.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import { type Addressing, deadLetterBroker } from '../engine/consumer/consumer-facts.ts'
import type { Environment } from '../environment.ts'
import { errorCode, errorText, OncewardError } from '../errors.ts'
import type { Publisher } from '../ports/publisher.ts'
import { openPublisher, type PublisherAddresses } from './open-publisher.ts'
import { type Broker, rabbitOutlet } from './open-source.ts'
import { Outlet } from './outlet.ts'

export interface OutletSetting extends PublisherAddresses {
  readonly pool: SqlPool
  readonly env: Environment
  /** Aborts connecting to a broker. */
  readonly signal?: AbortSignal | undefined
  /** Copies for delay levels are in the outbox, even if the contract no longer declares levels. */
  readonly carriesCopies?: boolean
}

/**
 * Kinds of broker that the consumer publishes to: for dead letters, retries, and targets without their own
 * destination.
 */
export function outletKinds<M>(
  consumer: Consumer<M, SqlTransaction>,
  carriesCopies = false,
): ReadonlySet<string> {
  const { failure, effect, source } = consumer
  const kinds = Object.values(effect?.publish ?? {})
    .filter(({ destination }) => destination === undefined)
    .map(({ broker }) => broker as string)
  if (failure.deadLetter !== null || failure.retryLevelsMs.length > 0 || carriesCopies)
    kinds.push(deadLetterBroker(source))
  return new Set(kinds)
}

/** Opens an outlet for every kind with an address, and determines its destination. */
export async function openOutlets<M>(
  consumer: Consumer<M, SqlTransaction>,
  source: Broker,
  setting: OutletSetting,
): Promise<readonly Outlet[]> {
  const own = deadLetterBroker(consumer.source)
  const outlets: Outlet[] = []
  try {
    for (const kind of outletKinds(consumer, setting.carriesCopies)) {
      if (kind !== 'rabbitmq' && kind !== 'kafka') continue
      const outlet = await openOutlet(kind, setting, kind === own ? source : null)
      if (outlet === null) continue
      outlets.push(outlet)
      await reachOrRemember(outlet, consumer.name, setting)
    }
    return outlets
  } catch (error) {
    for (const outlet of outlets) await outlet.close()
    throw error
  }
}

/** Null when no address is configured. `source`: the consumer reads from a broker of this kind. */
export async function openOutlet(
  kind: 'rabbitmq' | 'kafka',
  setting: OutletSetting,
  source: Broker | null = null,
): Promise<Outlet | null> {
  const { pool, rabbitmqUrl, kafkaBootstrap, rabbitmqCluster, kafkaCluster } = setting
  if (source?.outlet !== undefined)
    return new Outlet(kind, source.outlet, pool).open(
      async onBroker => (await source.openPublisher(onBroker)) as Publisher,
    )
  if (kind === 'rabbitmq' && rabbitmqUrl) {
    const at = rabbitOutlet(rabbitmqUrl, rabbitmqCluster)
    return new Outlet(kind, at, pool).open(onBroker => openPublisher(kind, setting, onBroker))
  }
  if (kind !== 'kafka' || !kafkaBootstrap) return null
  const at = { address: kafkaBootstrap, cluster: kafkaCluster }
  return new Outlet(kind, at, pool).open(onBroker => openPublisher(kind, setting, onBroker))
}

/** Starts without an unavailable broker if the last run recorded its destination. */
async function reachOrRemember(
  outlet: Outlet,
  name: string,
  { pool, env, signal }: OutletSetting,
): Promise<void> {
  const giveUp = () => void outlet.close()
  signal?.addEventListener('abort', giveUp)
  try {
    await outlet.reach()
  } catch (error) {
    if (errorCode(error) !== 'broker_unreachable' || signal?.aborted) throw error
    const known = await readLastRun(pool, name, outlet.kind)
    if (known === null || known.address !== outlet.at.address) throw error
    outlet.remember(known.name)
    env.log.warn('broker unavailable at start; its messages wait in the outbox', {
      broker: outlet.kind,
      destination: known.name,
      error: errorText(error),
    })
  } finally {
    signal?.removeEventListener('abort', giveUp)
  }
}

/**
 * Destinations of this process's messages (null: it writes none): from the outlets, else from the consumer's
 * last run, else the only destination of that kind.
 */
export async function addressingOf<M>(
  consumer: Consumer<M, SqlTransaction> | null,
  outlets: readonly Outlet[],
  pool: SqlPool,
  virtualHost = '',
): Promise<Addressing> {
  const destinations: Record<string, string> = {}
  const addresses: Record<string, string> = {}
  for (const kind of consumer === null ? [] : outletKinds(consumer)) {
    const outlet = outlets.find(one => one.kind === kind)
    if (outlet !== undefined) addresses[kind] = outlet.at.address
    destinations[kind] =
      outlet?.destination ??
      (await readLastRun(pool, consumer!.name, kind))?.name ??
      (await readDefault(pool, kind, consumer!.name))
  }
  const own = outlets.find(({ kind }) => kind === consumer?.source.kind)
  return {
    virtualHost,
    destinations,
    addresses,
    confirm: async broker => own?.confirm(broker),
  }
}

async function readDefault(pool: SqlPool, kind: string, consumer: string): Promise<string> {
  try {
    return await readDefaultDestination(pool, kind)
  } catch (error) {
    if (errorCode(error) !== '22023') throw error
    throw new OncewardError(
      'configuration',
      `Consumer "${consumer}" publishes to ${kind}, this process has no address of it, and the database knows several: ${errorText(error)} Nothing was started. Configure the address for this process, or name the destination in effect.publish.`,
      { cause: error },
    )
  }
}
