import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../environment.ts'
import { errorText, OncewardError } from '../../errors.ts'
import type { TransactionalProducer } from './client/transactions.ts'

export interface ExclusiveOptions {
  readonly log: Log
  /** Ends every wait. */
  readonly stopping: AbortSignal
  /**
   * Called after repeated fencing: another process uses the same transactional id. Null when the id is
   * unique; then timeouts caused the fencing.
   */
  readonly onRival: (() => void) | null
  /** Called when the producer cannot be started again. */
  readonly onRefused: (error: OncewardError) => void
}

const retryDelayMs = 200
/** More fences in a row than timeouts explain. */
const fencesMax = 3

/**
 * Runs one transaction at a time. The next one starts only after the last one is committed, aborted, or ended
 * by a restart of the producer.
 */
export class ExclusiveTransactions {
  readonly #producer: TransactionalProducer
  readonly #options: ExclusiveOptions
  #last: Promise<unknown> = Promise.resolve()
  #fences = 0

  constructor(producer: TransactionalProducer, options: ExclusiveOptions) {
    this.#producer = producer
    this.#options = options
  }

  /** Rejects with the error of `transact`, after its transaction has ended. */
  run<T>(transact: () => Promise<T>): Promise<T> {
    const result = this.#last.then(async () => {
      try {
        const done = await transact()
        this.#fences = 0
        return done
      } catch (error) {
        await this.#clear(error)
        throw error
      }
    })
    this.#last = result.catch(() => {})
    return result
  }

  async #clear(error: unknown): Promise<void> {
    const { log, onRival } = this.#options
    log.warn('transaction not committed; its records will be read again', { reason: errorText(error, 500) })
    const isFenced = error instanceof OncewardError && error.code === 'producer_fenced'
    if (isFenced && ++this.#fences >= fencesMax) onRival?.()
    while (this.#producer.state !== 'ready' && (await this.#tryToClear()));
  }

  /** False when no further attempt is possible. */
  async #tryToClear(): Promise<boolean> {
    const { stopping, onRefused } = this.#options
    try {
      const { state } = this.#producer
      if (state === 'lost' || state === 'unanswered') await this.#producer.start()
      else await this.#producer.abort()
      return true
    } catch (error) {
      if (error instanceof OncewardError && error.code === 'configuration') onRefused(error)
      if (stopping.aborted) return false
      await sleep(retryDelayMs, undefined, { signal: stopping }).catch(() => {})
      return true
    }
  }
}
