import { assertUsable } from '../drivers/postgres/assert-usable.ts'
import { createPool } from '../drivers/postgres/pool.ts'
import { ServerIncarnation } from '../drivers/postgres/server-incarnation.ts'
import type { Environment } from '../environment.ts'
import { withEnvironment } from './addresses.ts'
import { openOutlet } from './consumer-outlets.ts'
import { databaseTrouble } from './database-trouble.ts'
import { instanceName } from './instance-name.ts'
import { assertAddresses, type PublisherAddresses, type RelayedBroker } from './open-publisher.ts'
import { openRelay, type RelayCarrier } from './open-relays.ts'
import { type StartOptions, startPatiently } from './patient-start.ts'
import { realEnvironment } from './real-environment.ts'
import type { Running } from './run-consumer.ts'
import { watchCarriers } from './run-health.ts'
import { endPool, running } from './running.ts'

export type { RelayedBroker } from './open-publisher.ts'

/** Missing addresses and the environment are read from the same variables as on the command line. */
export interface RunRelayOptions extends PublisherAddresses, StartOptions {
  readonly databaseUrl: string
  /** Publishes rows for these brokers; any number of relays may run. */
  readonly brokers: readonly RelayedBroker[]
  readonly instance?: string
  /** Lease on outbox rows: after a crash, another relay waits this long. Default 10 s. */
  readonly relayLeaseMs?: number
  /** How long rows for `cdc` are kept. Default an hour. */
  readonly cdcKeepMs?: number
  readonly environment?: string | undefined
  readonly env?: Environment
}

/** A running relay. */
export type RunningRelay = Omit<Running, 'consumer' | 'worker'>

/**
 * A relay without a consumer, for producers that write into the outbox. Waits while the database is
 * unreachable. Rows of an unavailable broker wait; a broker that refuses the login ends the relay: `finished`
 * rejects. Rejects with one error when it starts nothing.
 */
export async function runRelay(given: RunRelayOptions): Promise<RunningRelay> {
  const { env = realEnvironment(), ...rest } = given
  const options = withEnvironment(rest)
  assertAddresses(options.brokers, options, 'The relay publishes')
  return startPatiently(signal => startRelay({ ...options, env, signal }), options, env)
}

async function startRelay(
  options: RunRelayOptions & { readonly env: Environment; readonly signal: AbortSignal },
): Promise<RunningRelay> {
  const { brokers, environment, env, signal } = options
  const instance = options.instance ?? instanceName()
  const incarnation = new ServerIncarnation()
  const pool = createPool(options.databaseUrl, {
    max: 2 + 3 * brokers.length,
    verify: client => incarnation.check(client),
  })
  const carriers: RelayCarrier[] = []
  try {
    await assertUsable(pool, environment)
    const setting = { ...options, pool, env, instance }
    for (const broker of new Set(brokers)) {
      const local = broker === 'postgres' || broker === 'cdc'
      carriers.push(openRelay(local ? broker : (await openOutlet(broker, setting))!, setting))
    }
    for (const carrier of carriers) {
      signal.throwIfAborted()
      await carrier.start()
    }
    signal.throwIfAborted()
    return running(null, () => null, carriers, pool, env, watchCarriers(carriers, pool, env))
  } catch (error) {
    for (const carrier of carriers) carrier.leave()
    await Promise.allSettled(carriers.map(carrier => carrier.finished))
    await endPool(pool, env)
    throw databaseTrouble(error, options.databaseUrl)
  }
}
