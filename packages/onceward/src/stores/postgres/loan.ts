import type { SqlTransaction } from '../../contract/contract.ts'
import type { Loan } from '../../contracts/store.ts'
import { OncewardError } from '../../errors.ts'
import type { Log } from '../../surroundings.ts'
import type { SqlClient } from './pool.ts'

/** Statements that would end or replace the transaction; savepoints are the handler's own business. */
const transactionControl =
  /^(?:\s|--.*\n|\/\*[\s\S]*?\*\/)*(?:begin|start\s+transaction|commit|end|rollback(?!\s+(?:work\s+|transaction\s+)?to\b)|abort|prepare\s+transaction)\b/i

/**
 * The transaction as one handler call sees it. It watches what the handler does: whether it wrote, what failed even if
 * the handler swallowed it, what it did not wait for. After `revoke` a statement is refused before it is sent: a write
 * landing after COMMIT would stand alone, outside the promise.
 */
export class SqlLoan implements Loan<SqlTransaction>, SqlTransaction {
  readonly #client: SqlClient
  readonly #log: Log
  #revoked = false
  #idle: (() => void) | null = null
  used = false
  failure: unknown = undefined
  pending = 0

  constructor(client: SqlClient, log: Log) {
    this.#client = client
    this.#log = log
  }

  get tx(): SqlTransaction {
    return this
  }

  query<Row>(text: string, values?: readonly unknown[]): Promise<{ rows: Row[]; rowCount: number }> {
    if (this.#revoked) return this.#refuse(text)
    if (transactionControl.test(text)) return this.#refuseControl(text)
    this.used = true
    this.pending++
    return this.#client.query(text, values as unknown[]).then(
      result => {
        this.#answered()
        return { rows: result.rows as Row[], rowCount: result.rowCount ?? 0 }
      },
      error => {
        this.failure ??= error
        this.#answered()
        throw error
      },
    )
  }

  idle(): Promise<void> {
    if (this.pending === 0) return Promise.resolve()
    return new Promise(resolve => {
      this.#idle = resolve
    })
  }

  revoke(): void {
    this.#revoked = true
  }

  #refuseControl(text: string): Promise<never> {
    this.used = true
    this.failure ??= new OncewardError(
      'tx_control',
      `A handler sent "${text.trim().slice(0, 40)}" on \`tx\`. The transaction is Onceward's: it holds the markers of the whole batch. Nothing was sent; throw, or return a verdict, to undo your writes.`,
    )
    return Promise.reject(this.failure)
  }

  #answered(): void {
    this.pending--
    if (this.pending === 0) this.#idle?.()
  }

  #refuse(text: string): Promise<never> {
    const error = new OncewardError(
      'tx_closed',
      `A handler used \`tx\` after it had returned (${text.slice(0, 80)}). The statement was not sent. Await everything before returning.`,
    )
    this.#log.error('tx used after the handler returned; statement not sent', {
      statement: text.slice(0, 80),
    })
    const refused = Promise.reject(error)
    refused.catch(() => {}) // nobody may be listening any more, and that must not end the process
    return refused
  }
}
