import type { SqlPool } from 'onceward/operations'

type Result = ReturnType<SqlPool['query']>

const entriesMax = 1_000

/**
 * The pool of live screens: a statement with the same values is sent once an interval, however many people
 * watch. What a person may see is decided after the read, so they can share it. Results must not be changed.
 */
export class SharedReads implements SqlPool {
  readonly #pool: SqlPool
  readonly #intervalMs: number
  readonly #now: () => number
  readonly #sent = new Map<string, { readonly at: number; readonly result: Result }>()

  constructor(pool: SqlPool, intervalMs = 1_000, now: () => number = Date.now) {
    this.#pool = pool
    this.#intervalMs = intervalMs
    this.#now = now
  }

  query(text: string, values: readonly unknown[] = []): Result {
    const key = JSON.stringify([text, values])
    const known = this.#sent.get(key)
    if (known !== undefined && this.#now() - known.at < this.#intervalMs) return known.result
    this.#removeOld()
    const result = this.#pool.query(text, values)
    this.#sent.set(key, { at: this.#now(), result })
    return result
  }

  /** After an act, the next read is a new one. */
  forget(): void {
    this.#sent.clear()
  }

  connect(): ReturnType<SqlPool['connect']> {
    return this.#pool.connect()
  }

  async end(): Promise<void> {}

  #removeOld(): void {
    for (const [key, { at }] of this.#sent)
      if (this.#now() - at >= this.#intervalMs || this.#sent.size >= entriesMax) this.#sent.delete(key)
  }
}
