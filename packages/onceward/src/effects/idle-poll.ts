import type { Environment } from '../environment.ts'

const delayMinMs = 20
const delayMaxMs = 500

/**
 * The one timer of a loop that looks for work: 20 ms after finding some, doubling to 500 ms while there is
 * none.
 */
export class IdlePoll {
  readonly #env: Pick<Environment, 'timers'>
  readonly #look: () => void
  #delayMs = delayMinMs
  #cancel: (() => void) | null = null

  constructor(env: Pick<Environment, 'timers'>, look: () => void) {
    this.#env = env
    this.#look = look
  }

  /** Looks again later; a wait already running is replaced. */
  wait(options: { readonly found?: boolean; readonly delayMs?: number } = {}): void {
    this.cancel()
    const delayMs = options.delayMs ?? (options.found === true ? delayMinMs : this.#delayMs)
    this.#delayMs = options.found === true ? delayMinMs : Math.min(delayMaxMs, this.#delayMs * 2)
    this.#cancel = this.#env.timers.after(delayMs, () => {
      this.#cancel = null
      this.#look()
    })
  }

  cancel(): void {
    this.#cancel?.()
    this.#cancel = null
  }
}
