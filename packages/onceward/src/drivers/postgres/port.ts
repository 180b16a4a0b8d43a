import type { SqlResult } from './pool.ts'
import type { Isolation } from './transaction-options.ts'

/**
 * What a database library must provide so that a store can work in its transactions. `Tx` is the handle of
 * the library, which handlers get as `tx`. Texts use `$1`, `$2`; arrays and buffers are ordinary values.
 */
export interface SqlPort<Tx> {
  readonly dialect: 'postgres'

  /**
   * True if `query` and `transaction` also reject when the server warned that a COMMIT stopped waiting for
   * its synchronous standby: see `watchReplication`. A port that cannot receive warnings omits it, and the
   * store then refuses a database with such a standby.
   */
  readonly hearsReplication?: boolean

  /** A statement outside of a transaction. */
  query(text: string, values?: readonly unknown[]): Promise<SqlResult>

  /**
   * Begins a transaction on a dedicated connection, calls `work` once and commits when it resolves. Rolls
   * back when it rejects. Returns the connection in either case, or destroys it if ROLLBACK was not
   * confirmed. Rejects when COMMIT failed or its answer was lost. `work` settles when every statement of its
   * handlers is answered or refused.
   */
  transaction<T>(isolation: Isolation, work: (open: OpenTransaction<Tx>) => Promise<T>): Promise<T>
}

/** An open transaction of an adapter: its handle for handlers, and statements beside it. */
export interface OpenTransaction<Tx> {
  /** A statement in the transaction that bypasses plugins and naming rules of the library. */
  query(text: string, values?: readonly unknown[]): Promise<SqlResult>

  /** A handle for one handler call: every statement made with it must pass `statements.watch`. */
  handle(statements: WatchedStatements): Tx
}

/** How an adapter shows each statement of a handler before it is sent. */
export interface WatchedStatements {
  /**
   * Called with each statement when the handler makes it. Calls `send` at once, or rejects without calling
   * it: the handler has ended, or may not send this statement. `close` is for rows that are read in pieces:
   * called when the handler has ended and `send` has not settled.
   */
  watch<T>(text: string, send: () => Promise<T>, close?: () => unknown): Promise<T>
  /**
   * For a library that queues statements: called when a statement leaves the queue for the connection. Calls
   * `send` at once, or rejects without calling it: the handler has ended.
   */
  leave<T>(text: string, send: () => Promise<T>): Promise<T>
  /** For other operations of the library: commit, rollback, hidden nested transactions. Rejects. */
  refuseControl(what: string): Promise<never>
}
