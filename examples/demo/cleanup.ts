type Step = () => Promise<unknown> | unknown

/**
 * Undoes the steps of a run once, in reverse order, however it ends. Ctrl-C or SIGTERM ends the run
 * immediately: `guard` then resolves with null, and the cleanup starts.
 */
export class Cleanup {
  readonly #steps: Step[] = []
  readonly #interrupted = Promise.withResolvers<null>()
  readonly #onSignal = () => {
    this.#begun = true
    this.#interrupted.resolve(null)
  }
  #begun = false
  #running: Promise<void> | null = null

  constructor() {
    process.on('SIGINT', this.#onSignal)
    process.on('SIGTERM', this.#onSignal)
  }

  /** True once the run ends early. Loops check it. */
  get begun(): boolean {
    return this.#begun
  }

  add(step: Step): void {
    this.#steps.push(step)
  }

  guard<T>(work: Promise<T>): Promise<T | null> {
    work.catch(() => {})
    return Promise.race([work, this.#interrupted.promise])
  }

  run(): Promise<void> {
    this.#begun = true
    this.#running ??= this.#undo()
    return this.#running
  }

  async #undo(): Promise<void> {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step()
      } catch {
        // A step that cannot be undone must not prevent the others.
      }
    }
    process.off('SIGINT', this.#onSignal)
    process.off('SIGTERM', this.#onSignal)
  }
}
