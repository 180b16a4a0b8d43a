/** Runs go side by side, but a run that restarts the server goes alone. */
export class RunTurns {
  #running = 0
  #alone = false
  readonly #waiting: { readonly alone: boolean; readonly start: () => void }[] = []

  /** Resolves when the run may begin, with a function that ends its turn. Turns are given in order. */
  async enter(how: 'shared' | 'alone'): Promise<() => void> {
    const alone = how === 'alone'
    await new Promise<void>(start => {
      this.#waiting.push({ alone, start })
      this.#next()
    })
    return () => this.#leave()
  }

  #leave(): void {
    this.#running--
    this.#alone = false
    this.#next()
  }

  #next(): void {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      if (this.#alone || (first.alone && this.#running > 0)) return
      this.#waiting.shift()
      this.#running++
      this.#alone = first.alone
      first.start()
    }
  }
}
