import type { Log } from '../../environment.ts'
import type { ConsumerFacts } from '../../ports/enrolment.ts'
import type { Store } from '../../ports/store.ts'
import type { ServerIncarnation } from './server-incarnation.ts'
import type { Prepare } from './statements/prepare-policy.ts'

/** Options for the transactions of a PostgreSQL store, in any library. */
export interface TransactionOptions {
  /** Longest wait for a lock, such as a marker that another process has not committed. Default 3 s. */
  readonly lockTimeoutMs?: number
  /** Default `read committed`. Stricter levels cost retries, never correctness. */
  readonly isolation?: Isolation
  /** Refuse to work on the database of another environment. Default: no check. */
  readonly environment?: string
  /**
   * Whether statements that handlers repeat within a transaction are prepared. Default `auto`: unless the
   * connection leads through a pooler. `always`: the pooler supports it, like PgBouncer 1.21 or later with
   * `max_prepared_statements`.
   */
  readonly prepare?: Prepare
  readonly log?: Log
  /** The incarnation of the server; default: one per store. Shared by everything that uses the pool. */
  readonly incarnation?: ServerIncarnation
}

export type Isolation = 'read committed' | 'repeatable read' | 'serializable'

/** A store on a pool of the caller. */
export interface ClosableStore<Tx> extends Store<Tx> {
  /** Ends the pool of the library, if the caller has no other use for it. */
  close(): Promise<void>
}

/**
 * How much longer than a handler a transaction may idle before the server ends the session of a frozen
 * process.
 */
const idleMarginMs = 5_000
/** The longest time-out that the server accepts. */
const limitMaxMs = 2 ** 31 - 1

export function serverLimitMs({ handlerTimeoutMs }: ConsumerFacts): number {
  return Math.min(handlerTimeoutMs + idleMarginMs, limitMaxMs)
}

/**
 * Fails in an aborted transaction, outside of one, and in a transaction that another component began: the
 * setting is local to this one.
 */
export const proof = `select current_setting('onceward.run')::integer`
