import { setTimeout as sleep } from 'node:timers/promises'
import type { Log } from '../../environment.ts'
import { errorText, OncewardError } from '../../errors.ts'
import type { TransactionalProducer } from './client/transactions.ts'

export interface ExclusiveOptions {
  readonly log: Log
  /** Ends every wait. */
  readonly stopping: AbortSignal
  /**
   * Fenced again and again: another process runs under our name. Null where nobody else can have it: then
   * time-outs fenced us.
   */
  readonly onRival: (() => void) | null
  /** The producer cannot be started again. */
  readonly onRefused: (error: OncewardError) => void
}

const retryDelayMs = 200
/** So often in a row it is no time-out. */
const fencesMax = 3

/**
 * One transaction at a time, and none before the last one is out of the way: aborted, or made an end of by
 * starting the producer anew.
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

  /** Rejects with what `transact` threw, once nothing of it is left. */
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
    log.warn('transaction not committed; its records are read again', { reason: errorText(error, 500) })
    const isFenced = error instanceof OncewardError && error.code === 'producer_fenced'
    if (isFenced && ++this.#fences >= fencesMax) onRival?.()
    while (this.#producer.state !== 'ready' && (await this.#tryToClear()));
  }

  /** False when there is nothing more to try. */
  async #tryToClear(): Promise<boolean> {
    const { stopping, onRefused } = this.#options
    try {
      if (this.#producer.state === 'lost') await this.#producer.start()
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
