import { type EffectResult, recordResults } from '../../drivers/postgres/ledger/record-results.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { Environment } from '../../environment.ts'
import { isTransient, unavailableDelayMs } from '../store-unavailable.ts'

interface Waiting {
  readonly result: EffectResult
  readonly done: PromiseWithResolvers<boolean>
}

const flushMax = 500

/**
 * One statement is in flight; results that arrive meanwhile join the next. While the database is unavailable,
 * results stay here and are retried. Their slots stay taken, so at most the targets' concurrency accumulates.
 */
export class ResultRecorder {
  readonly #pool: SqlPool
  readonly #env: Environment
  readonly #leaving: AbortSignal
  #waiting: Waiting[] = []
  #flushing = false

  constructor(pool: SqlPool, env: Environment, leaving: AbortSignal) {
    this.#pool = pool
    this.#env = env
    this.#leaving = leaving
  }

  /** Resolves when durable: true if this dispatcher still held the row, false if another has leased it. */
  record(result: EffectResult): Promise<boolean> {
    const done = Promise.withResolvers<boolean>()
    this.#waiting.push({ result, done })
    if (!this.#flushing) void this.#flush()
    return done.promise
  }

  async #flush(): Promise<void> {
    this.#flushing = true
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, flushMax)
      try {
        const ours = await this.#write(batch.map(({ result }) => result))
        this.#env.reach('dispatch.recorded')
        batch.forEach(({ done }, index) => {
          done.resolve(ours[index]!)
        })
      } catch (error) {
        for (const { done } of batch) done.reject(error)
      }
    }
    this.#flushing = false
  }

  async #write(results: readonly EffectResult[]): Promise<readonly boolean[]> {
    for (let failures = 0; ; failures++) {
      this.#leaving.throwIfAborted()
      try {
        return await recordResults(this.#pool, results)
      } catch (error) {
        if (!isTransient(error)) throw error
        const { promise, resolve } = Promise.withResolvers<void>()
        this.#env.timers.after(unavailableDelayMs(failures, this.#env.random()), resolve)
        await promise
      }
    }
  }
}
