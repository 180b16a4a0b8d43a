import type { Consumer } from '../contract/define-consumer.ts'
import type { SqlTransaction } from '../contract/handler.ts'
import { createOutboxCleaner } from '../effects/publish/clean-outbox.ts'
import type { Publisher } from '../effects/publish/publisher.ts'
import { createRelay } from '../effects/publish/relay.ts'
import { deadLetterBroker } from '../engine/consumer-facts.ts'
import type { SqlPool } from '../stores/postgres/pool.ts'
import type { Surroundings } from '../surroundings.ts'
import {
  assertAddresses,
  openPublisher,
  type PublisherAddresses,
  type RelayedBroker,
} from './open-publisher.ts'
import type { Broker } from './open-source.ts'

export interface Lifecycle {
  start(): Promise<void> | void
  drain(deadlineMs?: number): Promise<void>
  leave(): void
  readonly finished: Promise<void>
}

/** Carries away what the consumer's transactions leave behind. */
export interface Carrier extends Lifecycle {
  kick(): void
}

export interface RelayCarrier extends Carrier {
  /** What it does not reach now. */
  readonly away: readonly string[]
}

export interface RelaySetting extends PublisherAddresses {
  readonly pool: SqlPool
  readonly world: Surroundings
  readonly instance: string
  readonly relayLeaseMs?: number | undefined
  readonly cdcKeepMs?: number | undefined
}

/** A relay for every broker that the contract's targets and dead letters name; none for a contract that publishes nothing. */
export async function openConsumerRelays<M>(
  consumer: Consumer<M, SqlTransaction>,
  source: Broker,
  setting: RelaySetting,
): Promise<Carrier[]> {
  const { deadLetter, retryLevelsMs } = consumer.failure
  const own = deadLetterBroker(consumer.source) as RelayedBroker
  const brokers = new Set(Object.values(consumer.effect?.publish ?? {}).map(({ broker }) => broker))
  assertAddresses(
    [...brokers].filter(broker => broker !== own),
    setting,
    `Consumer "${consumer.name}" publishes`,
  )
  if (deadLetter !== null) {
    await source.ensureQueue(deadLetter)
    brokers.add(own as never)
  }
  if (retryLevelsMs.length > 0) brokers.add(own as never)
  const carriers: Carrier[] = []
  for (const broker of brokers) {
    const open = broker === own ? source.openPublisher : undefined
    carriers.push(await openRelay(broker, setting, open))
  }
  return carriers
}

export async function openRelay(
  broker: RelayedBroker,
  setting: RelaySetting,
  open?: () => Promise<Publisher | 'same database'>,
): Promise<RelayCarrier> {
  const { pool, world, instance, relayLeaseMs, cdcKeepMs } = setting
  if (broker === 'cdc') {
    const cleaner = createOutboxCleaner({ pool, world, ...(cdcKeepMs && { keepMs: cdcKeepMs }) })
    return carrying(cleaner, () => cleaner)
  }
  const publisher = open === undefined ? await openPublisher(broker, setting) : await open()
  const lease = relayLeaseMs === undefined ? {} : { leaseMs: relayLeaseMs }
  const relay = createRelay({ pool, broker, publisher, world, instance, ...lease })
  const close = async () => {
    if (publisher !== 'same database') await publisher.close()
  }
  return carrying(
    relay,
    () => ({ storeAway: relay.tally.storeAway, broker: relay.tally.brokerAway ? broker : null }),
    close,
  )
}

function carrying(
  part: Carrier,
  look: () => { readonly storeAway: boolean; readonly broker?: string | null },
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
    get away() {
      const { storeAway, broker = null } = look()
      return [...(storeAway ? ['the database'] : []), ...(broker === null ? [] : [broker])]
    },
  }
}
