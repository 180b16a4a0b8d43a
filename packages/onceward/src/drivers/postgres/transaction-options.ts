import type { Log } from '../../environment.ts'
import type { ConsumerFacts, Store } from '../../ports/store.ts'
import type { ServerLife } from './server-incarnation.ts'

/** What may be said about the transactions of a PostgreSQL store, whoever opens them. */
export interface TransactionOptions {
  /** Longest wait for a lock, such as a marker another process has not committed. Default 3 s. */
  readonly lockTimeoutMs?: number
  /** Default `read committed`. Stricter levels cost retries, never correctness. */
  readonly isolation?: Isolation
  /** Refuse to work on the database of another environment. Default: ask nothing. */
  readonly environment?: string
  readonly log?: Log
  /** What is known of the server's life; default its own. One for all that share a pool. */
  readonly life?: ServerLife
}

export type Isolation = 'read committed' | 'repeatable read' | 'serializable'

/** A store on somebody's pool. */
export interface ClosableStore<Tx> extends Store<Tx> {
  /** Ends the library's pool, for whoever has nothing else to do with it. */
  close(): Promise<void>
}

/**
 * How much longer than a handler the server lets a transaction idle before it ends a frozen process's
 * session.
 */
const idleMarginMs = 5_000
/** The longest the server takes for a time-out. */
const limitMaxMs = 2 ** 31 - 1

export function serverLimitMs({ handlerTimeoutMs }: ConsumerFacts): number {
  return Math.min(handlerTimeoutMs + idleMarginMs, limitMaxMs)
}

/**
 * Fails in an aborted transaction, in none, and in one that somebody else began: the setting is local to
 * ours.
 */
export const proof = `select current_setting('onceward.run')::integer`
