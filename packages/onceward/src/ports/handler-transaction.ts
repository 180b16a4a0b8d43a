import type { SqlTransaction } from '../contract/handler.ts'

/** A handle on the transaction for one handler call, with a record of its use. */
export interface HandlerTransaction<Tx> {
  readonly tx: Tx
  /**
   * SQL stores: the same handle for statements given as text. Declared effects get it, for any type of `tx`.
   */
  readonly sql?: SqlTransaction
  /** True once the handler has sent a statement: only a rollback can undo its writes then. */
  readonly used: boolean
  /** The first error of any of its statements, even if the handler swallowed it. */
  readonly failure: unknown
  /** Statements sent and not answered yet. */
  readonly pending: number
  /**
   * Called when the handler has ended. Closes rows that it left unread; resolves when no statement is
   * pending.
   */
  idle(): Promise<void>
  /**
   * Refuses further use with an explaining error, including statements that wait in a queue of its library.
   * `cut`: why the call was ended before its handler returned. The first call counts.
   */
  revoke(cut?: Error): void
}
