import type { ExternalTarget } from '../../contract/external-target.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { Environment } from '../../environment.ts'
import type { ReadVariable } from './targets/resolve-target.ts'

export interface DispatcherOptions {
  readonly pool: SqlPool
  readonly targets: Readonly<Record<string, ExternalTarget>>
  readonly consumerName: string
  readonly env: Environment
  /** The name of this process in the log. */
  readonly instance: string
  /** Default: each target's time-out plus 10 s. Refused when it is not longer than a target's time-out. */
  readonly leaseMs?: number
  /** Reads the secrets that targets name, once, at start. Without it, targets with secrets are refused. */
  readonly readVariable?: ReadVariable
}

export interface DispatcherTally {
  readonly leased: number
  readonly called: number
  /** Calls by result. */
  readonly results: Readonly<Record<string, number>>
  /** Results discarded because another dispatcher had leased the row. */
  readonly fenced: number
  readonly inFlight: number
  readonly storeUnavailable: boolean
}
