import type { Environment } from '../environment.ts'

const delayMinMs = 20
const delayMaxMs = 500

/** The timer of a polling loop: 20 ms after finding work, doubling to 500 ms while there is none. */
export class IdlePoll {
  readonly #env: Pick<Environment, 'timers'>
  readonly #poll: () => void
  #delayMs = delayMinMs
  #cancel: (() => void) | null = null

  constructor(env: Pick<Environment, 'timers'>, poll: () => void) {
    this.#env = env
    this.#poll = poll
  }

  /** Schedules the next poll and replaces a pending one. */
  wait(options: { readonly found?: boolean; readonly delayMs?: number } = {}): void {
    this.cancel()
    const delayMs = options.delayMs ?? (options.found === true ? delayMinMs : this.#delayMs)
    this.#delayMs = options.found === true ? delayMinMs : Math.min(delayMaxMs, this.#delayMs * 2)
    this.#cancel = this.#env.timers.after(delayMs, () => {
      this.#cancel = null
      this.#poll()
    })
  }

  cancel(): void {
    this.#cancel?.()
    this.#cancel = null
  }
}
