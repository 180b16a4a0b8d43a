import type { ExternalTarget } from '../../contract/contract.ts'
import type { SqlPool } from '../../stores/postgres/pool.ts'
import type { Surroundings } from '../../surroundings.ts'

export interface DispatcherOptions {
  readonly pool: SqlPool
  readonly targets: Readonly<Record<string, ExternalTarget>>
  readonly consumerName: string
  readonly world: Surroundings
  /** Names this process in the log. */
  readonly instance: string
  /** Default: each target's time-out and 10 s. Refused when it does not outlast a target's time-out. */
  readonly leaseMs?: number
  /**
   * Default 12 h. An intent older than this that may already have taken effect is not sent again: the target may have forgotten
   * its key by then (24 h is common). It waits as `unknown` for people to reconcile.
   */
  readonly doubtMaxMs?: number
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
