import type { ExternalTarget } from '../../contract/external-target.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { Environment } from '../../environment.ts'
import type { ReadVariable } from './targets/resolve-target.ts'

export interface DispatcherOptions {
  readonly pool: SqlPool
  readonly targets: Readonly<Record<string, ExternalTarget>>
  readonly consumerName: string
  readonly env: Environment
  /** Names this process in the log. */
  readonly instance: string
  /** Default: each target's time-out and 10 s. Refused when it does not outlast a target's time-out. */
  readonly leaseMs?: number
  /**
   * Where the secrets that targets name are read from, once, at start. Default: nowhere, they are refused.
   */
  readonly readVariable?: ReadVariable
}

export interface DispatcherTally {
  readonly claimed: number
  readonly called: number
  /** Calls by result. */
  readonly results: Readonly<Record<string, number>>
  /** Results dropped because another dispatcher had taken the row over. */
  readonly fenced: number
  readonly inFlight: number
  readonly storeAway: boolean
}
