interface Waiting {
  readonly beside: boolean
  readonly begin: () => void
}

/** Lets holders in one at a time, in order of asking; those that may stand beside each other together. */
export class Turns {
  readonly #waiting: Waiting[] = []
  #holders = 0
  #beside = false
  #begun = 0

  get busy(): boolean {
    return this.#holders > 0
  }

  /** How many there were so far. */
  get begun(): number {
    return this.#begun
  }

  /** Resolves when it is the caller's turn, with the function that ends it. `beside`: others that say so may have theirs too. */
  async take(beside = false): Promise<() => void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push({ beside, begin: resolve })
    this.#next()
    await promise
    let ended = false
    return () => {
      if (ended) return
      ended = true
      this.#holders--
      this.#next()
    }
  }

  #next(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if (this.#holders > 0 && !(first.beside && this.#beside)) return
      this.#waiting.shift()
      this.#holders++
      this.#begun++
      this.#beside = first.beside
      first.begin()
    }
  }
}
