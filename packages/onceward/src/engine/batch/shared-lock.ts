interface Waiting {
  readonly shared: boolean
  readonly enter: () => void
}

/**
 * A lock within one process. Holders enter in the order of their requests: exclusive ones alone, shared ones
 * together.
 */
export class SharedLock {
  readonly #waiting: Waiting[] = []
  #holders = 0
  #shared = false
  #entered = 0

  get busy(): boolean {
    return this.#holders > 0
  }

  /** How many holders have entered so far. */
  get entered(): number {
    return this.#entered
  }

  /** Resolves when the caller holds the lock, with the function that releases it. */
  exclusive(): Promise<() => void> {
    return this.#take(false)
  }

  /** Like `exclusive`, but together with other shared holders. */
  shared(): Promise<() => void> {
    return this.#take(true)
  }

  async #take(shared: boolean): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push({ shared, enter: resolve })
    this.#next()
    await promise
    let released = false
    return () => {
      if (released) return
      released = true
      this.#holders--
      this.#next()
    }
  }

  #next(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if (this.#holders > 0 && !(first.shared && this.#shared)) return
      this.#waiting.shift()
      this.#holders++
      this.#entered++
      this.#shared = first.shared
      first.enter()
    }
  }
}
