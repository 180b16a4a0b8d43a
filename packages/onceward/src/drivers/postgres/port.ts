import type { SqlResult } from './pool.ts'
import type { Isolation } from './transaction-options.ts'

/**
 * What a database library must do for a store to work in its transactions. `Tx` is the library's own handle,
 * which handlers get as `tx`. Texts carry `$1`, `$2`; arrays and buffers are values like others.
 */
export interface SqlPort<Tx> {
  readonly dialect: 'postgres'

  /**
   * True when `query` and `transaction` also reject where the server warned that a COMMIT stopped waiting for
   * its synchronous standby: see `watchReplication`. A port that cannot hear warnings leaves it out, and the
   * store then refuses a database with such a standby.
   */
  readonly hearsReplication?: boolean

  /** A statement outside of any transaction. */
  query(text: string, values?: readonly unknown[]): Promise<SqlResult>

  /**
   * Begins a transaction on a connection of its own, calls `work` once and commits when that resolves; rolls
   * back when it rejects, and gives the connection back in either case, or destroys it where ROLLBACK was not
   * confirmed. Rejects when COMMIT failed or its answer was lost. `work` settles when every statement of its
   * handlers is answered or refused.
   */
  transaction<T>(isolation: Isolation, work: (open: OpenTransaction<Tx>) => Promise<T>): Promise<T>
}

export interface OpenTransaction<Tx> {
  /** A statement in the transaction, past the library's plugins and naming rules. */
  query(text: string, values?: readonly unknown[]): Promise<SqlResult>

  /** A handle for one handler call: every statement made with it must pass `statements.watch`. */
  handle(statements: WatchedStatements): Tx
}

export interface WatchedStatements {
  /**
   * Called with each statement when the handler makes it. Calls `send` at once, or rejects without having
   * called it: the handler is over, or may not send this. `close` is for rows that are read in pieces: called
   * when the handler is over and `send` has not settled.
   */
  watch<T>(text: string, send: () => Promise<T>, close?: () => unknown): Promise<T>
  /**
   * For a library that queues statements: called with one when it leaves the queue for the connection. Calls
   * `send` at once, or rejects without having called it: its handler is over.
   */
  leave<T>(text: string, send: () => Promise<T>): Promise<T>
  /**
   * For what the library offers beside statements: commit, rollback, nested transactions it hides. Rejects.
   */
  refuseControl(what: string): Promise<never>
}
