import type { Log } from '../../environment.ts'
import { OncewardError } from '../../errors.ts'
import { lateUse } from '../../ports/late-use.ts'
import { factsOf } from './statements/statement-text.ts'

const severalCommands = /cannot insert multiple commands/

/**
 * How long a late statement waits for its refusal: a handler that continues in a loop would otherwise starve
 * the event loop.
 */
const lateRefusalMs = 10

/**
 * The statements of one handler call. It tracks whether the handler wrote, which statements failed even if
 * the handler swallowed the error, and which it did not await. After `revoke` a statement is refused before
 * it is sent, also one that waited in a queue of its library: a write after COMMIT or ROLLBACK would commit
 * alone, outside of the guarantee.
 */
export class StatementWatch {
  readonly #log: Log
  readonly #shared: boolean
  #revoked = false
  #cut: Error | undefined
  #logged = false
  #quiet: { readonly promise: Promise<void>; resolve(): void } | null = null
  #unread: Set<() => unknown> | null = null
  used = false
  failure: unknown = undefined
  pending = 0

  /** `shared`: other handlers use the same transaction. */
  constructor(log: Log, shared: boolean) {
    this.#log = log
    this.#shared = shared
  }

  /** A statement of the handler: it is sent or refused. `close` ends rows that are read in pieces. */
  watch<T>(text: string, send: () => Promise<T>, close?: () => unknown): Promise<T> {
    const refusal = this.#refusal(text)
    if (refusal !== null) return refusal
    this.used = true
    if (close !== undefined) {
      this.#unread ??= new Set()
      this.#unread.add(close)
    }
    const answer = this.#count(send).then(
      result => {
        this.#answered(close)
        return result
      },
      error => {
        const shown = this.#failed(text, error)
        this.#answered(close)
        throw shown
      },
    )
    answer.catch(() => {}) // a handler may await it late, or never: that is noticed, and must not end the process
    return answer
  }

  /**
   * The same for a statement that is answered by a call of `settle`. A statement that succeeds costs one
   * promise: handlers send one or more for each message.
   */
  protected watchAnswer<A, T>(
    text: string,
    send: (settle: (error: Error | null, answer?: A) => void) => void,
    read: (answer: A) => T,
  ): Promise<T> {
    const refusal = this.#refusal(text)
    if (refusal !== null) return refusal
    this.used = true
    this.pending++
    const { promise, resolve } = Promise.withResolvers<T>()
    send((error, answer) => {
      const failed = error === null ? null : refusedInCaller(this.#failed(text, error))
      this.#answered()
      if (failed === null) return resolve(read(answer!))
      promise.catch(() => {}) // a handler may await it late, or never: that is noticed, and must not end the process
      resolve(failed)
    })
    return promise
  }

  #refusal(text: string): Promise<never> | null {
    if (this.#revoked) return this.#refuseLate(text, lateRefusalMs)
    if (typeof text !== 'string') return this.refuseControl('a query object')
    return this.isControl(text) ? this.refuseControl(text) : null
  }

  #failed(text: string, error: Error): unknown {
    this.failure ??= severalCommands.test(error?.message) ? controlError(text) : error
    return this.failure === error ? error : this.failure
  }

  /** The same statement when it leaves a queue of its library for the connection. */
  leave<T>(text: string, send: () => Promise<T>): Promise<T> {
    if (this.#revoked) return this.#refuseLate(text, 0)
    return this.#count(send).finally(() => this.#answered())
  }

  /** Rows that were not read to their end are closed: their portal would block the connection. */
  idle(): Promise<void> {
    for (const close of this.#unread ?? []) close()
    this.#unread?.clear()
    if (this.pending === 0) return Promise.resolve()
    this.#quiet ??= Promise.withResolvers<void>()
    return this.#quiet.promise
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
    const { endsTransaction, setsSavepoint } = factsOf(text)
    return endsTransaction || (this.#shared && setsSavepoint)
  }

  async #count<T>(send: () => Promise<T>): Promise<T> {
    this.pending++
    return send()
  }

  #answered(close?: () => unknown): void {
    if (close !== undefined) this.#unread?.delete(close)
    this.pending--
    if (this.pending > 0) return
    this.#quiet?.resolve()
    this.#quiet = null
  }

  #refuseLate(text: string, delayMs: number): Promise<never> {
    const statement = text.slice(0, 80)
    if (!this.#logged) this.#logLate(statement)
    this.#logged = true
    const error = lateUse(this.#cut, `the statement was not sent (${statement})`)
    return delayMs === 0 ? refused(error) : refusedLater(error, delayMs)
  }

  #logLate(statement: string): void {
    const cut = this.#cut
    if (cut === undefined)
      this.#log.error('tx used after the handler returned; statement not sent', { statement })
    else
      this.#log.warn('statement not sent: the handler was aborted before it returned', {
        statement,
        reason: cut.message,
      })
  }
}

/** With the stack of the handler that awaits it: that of the connection's parser leads to no handler. */
function refusedInCaller(error: unknown): Promise<never> {
  return Promise.reject(error).catch(() => {
    if (error instanceof Error && !(error instanceof OncewardError)) Error.captureStackTrace(error)
    throw error
  })
}

/** A rejection without a listener must not end the process. */
function refused(error: unknown): Promise<never> {
  const rejected = Promise.reject(error)
  rejected.catch(() => {})
  return rejected
}

function refusedLater(error: unknown, delayMs: number): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>()
  promise.catch(() => {})
  setTimeout(reject, delayMs, error).unref()
  return promise
}

function controlError(text: string): OncewardError {
  return new OncewardError(
    'tx_control',
    `A handler sent "${text.trim().slice(0, 40)}" on \`tx\`. Onceward controls the transaction: it holds the markers of the whole batch, and accepts one command at a time. Nothing was committed; throw, or return a verdict, to undo your writes.`,
  )
}
