import type { SqlTransaction } from '../../contract/contract.ts'
import type { Loan } from '../../contracts/store.ts'
import { OncewardError } from '../../errors.ts'
import type { Log } from '../../surroundings.ts'
import type { SqlClient } from './pool.ts'

const lead = String.raw`^(?:\s|;|--.*\n|\/\*[\s\S]*?\*\/)*`
/** Statements that would end or replace the transaction. */
const transactionControl = new RegExp(
  String.raw`${lead}(?:begin|start\s+transaction|commit|end|rollback(?!\s+(?:work\s+|transaction\s+)?to\b)|abort|prepare\s+transaction)\b`,
  'i',
)
/** Of several handlers on one transaction, one's savepoint would undo what the others wrote since. */
const savepointControl = new RegExp(String.raw`${lead}(?:savepoint|release|rollback)\b`, 'i')
const severalCommands = /cannot insert multiple commands/

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

  readonly #shared: boolean

  /** `shared`: other handlers work on the same transaction at the same time. */
  constructor(client: SqlClient, log: Log, shared: boolean) {
    this.#client = client
    this.#log = log
    this.#shared = shared
  }

  get tx(): SqlTransaction {
    return this
  }

  query<Row>(text: string, values?: readonly unknown[]): Promise<{ rows: Row[]; rowCount: number }> {
    if (this.#revoked) return this.#refuse(text)
    if (typeof text !== 'string') return this.#refuseControl('a query object')
    if (transactionControl.test(text)) return this.#refuseControl(text)
    if (this.#shared && savepointControl.test(text)) return this.#refuseControl(text)
    this.used = true
    this.pending++
    // Extended, so that the server itself refuses several commands in one text, a hidden COMMIT among them.
    const answer = this.#client
      .query({ text, values: (values ?? []) as unknown[], queryMode: 'extended' })
      .then(
        result => {
          this.#answered()
          return { rows: result.rows as Row[], rowCount: result.rowCount ?? 0 }
        },
        error => {
          this.failure ??= severalCommands.test(error?.message) ? controlError(text) : error
          this.#answered()
          throw this.failure === error ? error : this.failure
        },
      )
    answer.catch(() => {}) // a handler may await it late, or never: that is noticed, and must not end the process
    return answer
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
    this.failure ??= controlError(text)
    const refused = Promise.reject(this.failure)
    refused.catch(() => {})
    return refused
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

function controlError(text: string): OncewardError {
  return new OncewardError(
    'tx_control',
    `A handler sent "${text.trim().slice(0, 40)}" on \`tx\`. The transaction is Onceward's: it holds the markers of the whole batch, and one command is sent at a time. Nothing was committed; throw, or return a verdict, to undo your writes.`,
  )
}
