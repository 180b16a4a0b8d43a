import { type EffectResult, recordResults } from '../../drivers/postgres/ledger/record-results.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { Environment } from '../../environment.ts'
import { awayDelayMs, isPassing } from '../store-away.ts'

interface Waiting {
  readonly result: EffectResult
  readonly done: PromiseWithResolvers<boolean>
}

const flushMax = 500

/**
 * One statement in flight; results that arrive meanwhile join the next. While the database is away the
 * results stay here and are tried again: their slots stay taken, so that no more than the targets'
 * concurrency can pile up.
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

  /** Resolves when durable: true if the row was still ours, false if another dispatcher has taken it over. */
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
        if (!isPassing(error)) throw error
        const { promise, resolve } = Promise.withResolvers<void>()
        this.#env.timers.after(awayDelayMs(failures, this.#env.random()), resolve)
        await promise
      }
    }
  }
}
