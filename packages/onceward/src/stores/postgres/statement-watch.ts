import { lateUse } from '../../contracts/late-use.ts'
import { OncewardError } from '../../errors.ts'
import type { Log } from '../../surroundings.ts'

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
 * The statements of one handler call. It watches what the handler does: whether it wrote, what failed even if the handler swallowed
 * it, what it did not wait for. After `revoke` a statement is refused before it is sent: a write landing after COMMIT would
 * stand alone, outside the promise.
 */
export class StatementWatch {
  readonly #log: Log
  readonly #shared: boolean
  #revoked = false
  #cut: Error | undefined
  #idle: (() => void) | null = null
  used = false
  failure: unknown = undefined
  pending = 0

  /** `shared`: other handlers work on the same transaction. */
  constructor(log: Log, shared: boolean) {
    this.#log = log
    this.#shared = shared
  }

  /** Sends a statement, or refuses it. */
  watch<T>(text: string, send: () => Promise<T>): Promise<T> {
    if (this.#revoked) return this.#refuseLate(text)
    if (typeof text !== 'string') return this.refuseControl('a query object')
    if (this.isControl(text)) return this.refuseControl(text)
    this.used = true
    this.pending++
    const answer = send().then(
      result => {
        this.#answered()
        return result
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

  revoke(cut?: Error): void {
    if (!this.#revoked) this.#cut = cut
    this.#revoked = true
  }

  refuseControl(text: string): Promise<never> {
    this.used = true
    this.failure ??= controlError(text)
    return refused(this.failure)
  }

  protected isControl(text: string): boolean {
    return transactionControl.test(text) || (this.#shared && savepointControl.test(text))
  }

  #answered(): void {
    this.pending--
    if (this.pending === 0) this.#idle?.()
  }

  #refuseLate(text: string): Promise<never> {
    const statement = text.slice(0, 80)
    const cut = this.#cut
    if (cut === undefined)
      this.#log.error('tx used after the handler returned; statement not sent', { statement })
    else
      this.#log.warn('statement not sent: its handler was ended before it returned', {
        statement,
        reason: cut.message,
      })
    return refused(lateUse(cut, `the statement was not sent (${statement})`))
  }
}

/** Nobody may be listening any more, and that must not end the process. */
function refused(error: unknown): Promise<never> {
  const rejected = Promise.reject(error)
  rejected.catch(() => {})
  return rejected
}

function controlError(text: string): OncewardError {
  return new OncewardError(
    'tx_control',
    `A handler sent "${text.trim().slice(0, 40)}" on \`tx\`. The transaction is Onceward's: it holds the markers of the whole batch, and one command is sent at a time. Nothing was committed; throw, or return a verdict, to undo your writes.`,
  )
}
