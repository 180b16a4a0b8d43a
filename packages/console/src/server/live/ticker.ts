interface Watcher<T> {
  readonly onValue: (value: T) => void
  readonly onError: (error: unknown) => void
}

/** One query for all that watch a screen, at most once a second, and none without watchers. */
export class Ticker<T> {
  readonly #read: () => Promise<T>
  readonly #intervalMs: number
  readonly #watchers = new Set<Watcher<T>>()
  #latest: { readonly value: T; readonly at: number } | null = null
  #reading: Promise<T> | null = null
  #timer: NodeJS.Timeout | null = null

  constructor(read: () => Promise<T>, intervalMs = 1_000) {
    this.#read = read
    this.#intervalMs = intervalMs
  }

  /** The value of this second. */
  async now(): Promise<T> {
    if (this.#latest !== null && Date.now() - this.#latest.at < this.#intervalMs) return this.#latest.value
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = null
    })
    return this.#reading
  }

  /** Calls one of the functions after every query, until the returned function is called. */
  watch(onValue: (value: T) => void, onError: (error: unknown) => void = () => {}): () => void {
    const watcher = { onValue, onError }
    this.#watchers.add(watcher)
    this.#schedule()
    return () => void this.#watchers.delete(watcher)
  }

  async #readOnce(): Promise<T> {
    const value = await this.#read()
    this.#latest = { value, at: Date.now() }
    return value
  }

  #schedule(): void {
    if (this.#timer !== null || this.#watchers.size === 0) return
    this.#timer = setTimeout(() => void this.#tick(), this.#intervalMs)
    this.#timer.unref()
  }

  async #tick(): Promise<void> {
    try {
      const value = await this.now()
      for (const { onValue } of this.#watchers) onValue(value)
    } catch (error) {
      for (const { onError } of this.#watchers) onError(error)
    }
    this.#timer = null
    this.#schedule()
  }
}
