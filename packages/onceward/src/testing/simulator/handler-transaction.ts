import type { HandlerTransaction } from '../../ports/handler-transaction.ts'
import { lateUse } from '../../ports/late-use.ts'
import { SimulatedStoreError } from './store-error.ts'
import type { EffectRow } from './tables.ts'
import { blocked, type SimulatedDatabaseTransaction } from './transaction.ts'

/** What a simulated handler may do to the database. */
export interface SimulatedTx {
  /** The effect: a row that becomes visible when the transaction commits. */
  record(effect: EffectRow): Promise<void>
  /** Changes a row that many messages change: locked to the end of the transaction. */
  touch(row: string): Promise<void>
  /** A statement the server refuses. */
  refused(code: string): Promise<void>
  /** A statement whose constraint is checked, and violated, at COMMIT. */
  refusedLate(code: string): Promise<void>
  /** A statement that ends the connection. */
  fatal(): Promise<void>
}

/** The transaction as one handler call sees it, with the same checks as the PostgreSQL handle. */
export class SimulatedHandlerTransaction implements HandlerTransaction<SimulatedTx>, SimulatedTx {
  readonly #transaction: SimulatedDatabaseTransaction
  #revoked = false
  #cut: Error | undefined
  #idle: (() => void) | null = null
  used = false
  failure: unknown = undefined
  pending = 0

  constructor(transaction: SimulatedDatabaseTransaction) {
    this.#transaction = transaction
  }

  get tx(): SimulatedTx {
    return this
  }

  record(effect: EffectRow): Promise<void> {
    return this.#send(`effect of ${effect.id}`, () => void this.#transaction.effects.push(effect))
  }

  touch(row: string): Promise<void> {
    return this.#send(`touch ${row}`, () => (this.#transaction.lock(`row ${row}`) ? undefined : blocked))
  }

  refused(code: string): Promise<void> {
    return this.#send('a statement the server refuses', () => {
      throw new SimulatedStoreError(code, 'refused')
    })
  }

  refusedLate(code: string): Promise<void> {
    return this.#send('a statement COMMIT will refuse', () => {
      this.#transaction.refusedAtCommit = new SimulatedStoreError(code, 'refused at COMMIT')
    })
  }

  fatal(): Promise<void> {
    return this.#send('a statement that ends the connection', () => this.#transaction.cut())
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

  #send(label: string, execute: () => undefined | void | typeof blocked): Promise<void> {
    if (this.#revoked) {
      return Promise.reject(lateUse(this.#cut, 'nothing was changed'))
    }
    this.used = true
    this.pending++
    const answer = this.#transaction.send(label, execute as () => void | typeof blocked).then(
      () => this.#answered(),
      error => {
        this.failure ??= error
        this.#answered()
        throw error
      },
    )
    answer.catch(() => {})
    return answer
  }

  #answered(): void {
    this.pending--
    if (this.pending === 0) this.#idle?.()
  }
}
