/** Wakes one waiter. A wake-up without a waiter is kept for the next wait, so none is lost. */
export class Signal {
  #woken = false
  #resolve: (() => void) | null = null

  wake(): void {
    this.#woken = true
    this.#resolve?.()
  }

  /** Resolves when woken, or after `timeoutMs`. */
  async wait(timeoutMs = Number.POSITIVE_INFINITY): Promise<void> {
    if (!this.#woken) {
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>(resolve => {
        this.#resolve = resolve
        if (timeoutMs !== Number.POSITIVE_INFINITY) timer = setTimeout(resolve, timeoutMs)
      })
      clearTimeout(timer)
      this.#resolve = null
    }
    this.#woken = false
  }
}
