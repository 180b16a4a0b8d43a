import { assertUsable } from '../stores/postgres/migrate.ts'
import { createPool } from '../stores/postgres/pool.ts'
import { ServerLife } from '../stores/postgres/server-life.ts'
import type { Surroundings } from '../surroundings.ts'
import { openOutlet } from './consumer-outlets.ts'
import { instanceName } from './instance-name.ts'
import { assertAddresses, type PublisherAddresses, type RelayedBroker } from './open-publisher.ts'
import { openRelay, type RelayCarrier } from './open-relays.ts'
import { realSurroundings } from './real-surroundings.ts'
import { type Running, running } from './run-consumer.ts'
import { watchCarriers } from './run-health.ts'

export type { RelayedBroker } from './open-publisher.ts'

export interface RunRelayOptions extends PublisherAddresses {
  readonly databaseUrl: string
  /** The rows written for these are carried; run as many relays as you like. */
  readonly brokers: readonly RelayedBroker[]
  readonly instance?: string
  /** How long what a dead relay had waits for another. Default 10 s. */
  readonly relayLeaseMs?: number
  /** How long rows for `cdc` are kept. Default an hour. */
  readonly cdcKeepMs?: number
  readonly environment?: string | undefined
  readonly world?: Surroundings
}

export type RunningRelay = Omit<Running, 'consumer' | 'worker'>

/** A relay without a consumer, for producers that write into the outbox. Rejects with one clear error, having started nothing. */
export async function runRelay(options: RunRelayOptions): Promise<RunningRelay> {
  const { brokers, environment, world = realSurroundings() } = options
  const instance = options.instance ?? instanceName()
  assertAddresses(brokers, options, 'The relay publishes')
  const life = new ServerLife()
  const pool = createPool(options.databaseUrl, {
    max: 2 + 3 * brokers.length,
    verify: client => life.check(client),
  })
  const carriers: RelayCarrier[] = []
  try {
    await assertUsable(pool, environment)
    const setting = { ...options, pool, world, instance }
    for (const broker of new Set(brokers)) {
      const local = broker === 'postgres' || broker === 'cdc'
      carriers.push(openRelay(local ? broker : (await openOutlet(broker, setting))!, setting))
    }
    for (const carrier of carriers) await carrier.start()
    return running(null, () => null, carriers, pool, world, watchCarriers(carriers, pool, world))
  } catch (error) {
    for (const carrier of carriers) carrier.leave()
    await Promise.allSettled(carriers.map(carrier => carrier.finished))
    await pool.end()
    throw error
  }
}
