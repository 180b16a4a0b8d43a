import type { Consumer } from '../contract/define-consumer.ts'
import type { SqlTransaction } from '../contract/handler.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import { createOutboxCleaner } from '../effects/publish/clean-outbox.ts'
import { createRelay, type Relay } from '../effects/publish/relay.ts'
import type { Environment } from '../environment.ts'
import { outletKinds } from './consumer-outlets.ts'
import type { PublisherAddresses } from './open-publisher.ts'
import type { Outlet } from './outlet.ts'
import { RelayWhenReached } from './relay-when-reached.ts'

export interface Lifecycle {
  start(): Promise<void> | void
  drain(deadlineMs?: number): Promise<void>
  leave(): void
  readonly finished: Promise<void>
}

/** Relays and dispatchers: publish outbox rows and make external calls. */
export interface RelayHandle extends Lifecycle {
  kick(): void
}

export interface RelayCarrier extends RelayHandle {
  /** Servers that are unreachable now. */
  readonly unreachable: readonly string[]
}

export interface RelaySetting extends PublisherAddresses {
  readonly pool: SqlPool
  readonly env: Environment
  readonly instance: string
  readonly relayLeaseMs?: number | undefined
  readonly cdcKeepMs?: number | undefined
  readonly signal?: AbortSignal | undefined
  /** Called when a broker has refused a message. */
  readonly onRefused?: (() => void) | undefined
  readonly carriesCopies?: boolean
}

/**
 * A relay for every broker of the contract's targets and dead letters, except targets with their own
 * destination.
 */
export async function openConsumerRelays<M>(
  consumer: Consumer<M, SqlTransaction>,
  outlets: readonly Outlet[],
  setting: RelaySetting,
): Promise<RelayHandle[]> {
  const local = [...outletKinds(consumer)].filter(kind => kind === 'postgres' || kind === 'cdc')
  return [
    ...outlets.map(outlet => openRelay(outlet, setting)),
    ...local.map(kind => openRelay(kind, setting)),
  ]
}

/** The relay of a broker that was never reached starts when the broker is reached. */
export function openRelay(to: Outlet | 'postgres' | 'cdc', setting: RelaySetting): RelayCarrier {
  const { pool, env, instance, relayLeaseMs, cdcKeepMs, onRefused } = setting
  if (to === 'cdc') {
    const cleaner = createOutboxCleaner({ pool, env, ...(cdcKeepMs && { keepMs: cdcKeepMs }) })
    return carrying(cleaner, () => cleaner)
  }
  const lease = relayLeaseMs === undefined ? {} : { leaseMs: relayLeaseMs }
  const common = { pool, env, instance, onRefused, ...lease }
  if (to === 'postgres')
    return carryingRelay(createRelay({ ...common, broker: to, publisher: 'same database' }))
  const begin = (destination: string) =>
    carryingRelay(createRelay({ ...common, broker: to.kind, destination, publisher: to.publisher }), to)
  return to.destination === null ? new RelayWhenReached(to, begin, env) : begin(to.destination)
}

function carryingRelay(relay: Relay, outlet: Outlet | null = null): RelayCarrier {
  const look = () => ({
    storeUnavailable: relay.tally.storeUnavailable,
    broker: relay.tally.brokerAway && outlet !== null ? outlet.label : null,
  })
  return carrying(relay, look, async () => outlet?.close())
}

function carrying(
  part: RelayHandle,
  look: () => { readonly storeUnavailable: boolean; readonly broker?: string | null },
  close = async () => {},
): RelayCarrier {
  const finished = part.finished.then(close, async error => {
    await close()
    throw error
  })
  finished.catch(() => {})
  return {
    start: () => part.start(),
    kick: () => part.kick(),
    drain: deadlineMs => part.drain(deadlineMs),
    leave: () => part.leave(),
    finished,
    get unreachable() {
      const { storeUnavailable, broker = null } = look()
      return [...(storeUnavailable ? ['the database'] : []), ...(broker === null ? [] : [broker])]
    },
  }
}
