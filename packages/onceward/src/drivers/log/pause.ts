import type { Timers } from '../../environment.ts'

/** A wait that `wake` ends early. One at a time; a wake that comes first counts for the next wait. */
export class Pause {
  readonly #timers: Pick<Timers, 'after'>
  #woken = false
  #end: (() => void) | null = null

  constructor(timers: Pick<Timers, 'after'>) {
    this.#timers = timers
  }

  wake(): void {
    this.#woken = true
    this.#end?.()
  }

  async wait(delayMs: number): Promise<void> {
    if (!this.#woken) {
      const { promise, resolve } = Promise.withResolvers<void>()
      const cancel = this.#timers.after(delayMs, resolve)
      this.#end = resolve
      await promise
      this.#end = null
      cancel()
    }
    this.#woken = false
  }
}
