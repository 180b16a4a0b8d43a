import type { Environment } from '../../environment.ts'
import { errorCode, errorText, OncewardError } from '../../errors.ts'
import type { Store } from '../../ports/store.ts'
import { ofStore, StorePaused } from '../batch/recover-attempt.ts'

/**
 * Waits while the store is unavailable, one wait for all batches of a consumer:
 *
 *   available ──connection lost──▶ unavailable ──ping answers──▶ available
 *
 * Meanwhile nothing is settled and no attempt is counted. A batch that waits for a lock waits alone.
 */
export class StoreWatch<Tx> {
  readonly #store: Store<Tx>
  readonly #env: Environment
  readonly #consumer: string
  readonly #mayWait: () => boolean
  #outage: Promise<void> | null = null

  /** `mayWait` becomes false when the consumer stops: no wait outlives it. */
  constructor(store: Store<Tx>, env: Environment, consumer: string, mayWait: () => boolean) {
    this.#store = store
    this.#env = env
    this.#consumer = consumer
    this.#mayWait = mayWait
  }

  get unavailable(): boolean {
    return this.#outage !== null
  }

  untilAvailable(): Promise<void> {
    return this.#outage ?? Promise.resolve()
  }

  /** `failures`: how often the same batch was paused before. */
  async pause({ trouble, message }: StorePaused, failures: number): Promise<void> {
    this.#env.log.warn(
      trouble === 'unavailable' ? 'store unavailable, nothing settled' : 'waiting for a lock',
      {
        consumer: this.#consumer,
        error: message,
      },
    )
    if (trouble === 'lock wait') return this.#wait(50, 5_000, failures)
    this.#outage ??= this.#untilAnswered(failures).finally(() => {
      this.#outage = null
    })
    return this.#outage
  }

  /** Repeats a small call beside the batches until the store answers. */
  async persist<T>(call: () => Promise<T>): Promise<T> {
    for (let failures = 0; ; failures++) {
      await this.untilAvailable()
      try {
        return await call()
      } catch (error) {
        const ours = error instanceof OncewardError && !ofStore.includes(error.code)
        const trouble = ours ? 'statement' : this.#store.diagnose(error)
        if (trouble === 'configuration') throw this.#refused(error)
        const passes = trouble === 'unavailable' || trouble === 'lock wait' || trouble === 'contention'
        if (!passes || !this.#mayWait()) throw error
        await this.pause(new StorePaused(trouble === 'unavailable' ? trouble : 'lock wait', error), failures)
      }
    }
  }

  /** Sources retry errors that are not OncewardErrors, and this one would never end. */
  #refused(error: unknown): OncewardError {
    return new OncewardError(
      'configuration',
      `Consumer ${this.#consumer}: the store refused a statement (${errorCode(error)}): ${errorText(error)}\nNothing was settled and nothing is lost. Check the role's rights and the schema version with "onceward status".`,
      { cause: error },
    )
  }

  async #untilAnswered(failures: number): Promise<void> {
    await this.#wait(50, 5_000, failures)
    for (let tries = 0; this.#mayWait(); tries++) {
      try {
        await this.#store.ping()
        this.#env.log.info('store available again', { consumer: this.#consumer })
        return
      } catch (error) {
        // The store answers, and requires an operator.
        if (error instanceof OncewardError && !ofStore.includes(error.code)) throw error
        await this.#wait(100, 2_000, tries)
      }
    }
  }

  #wait(firstMs: number, mostMs: number, doublings: number): Promise<void> {
    const ceiling = Math.min(mostMs, firstMs * 2 ** Math.min(doublings, 10))
    const delayMs = Math.floor((0.5 + this.#env.random() / 2) * ceiling)
    return new Promise(resolve => void this.#env.timers.after(delayMs, resolve))
  }
}
