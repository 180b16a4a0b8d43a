import type { Clock, Timers } from '../../environment.ts'

/** Admits a number of messages per second, evenly. Each caller waits for those before it. */
export class Throttle {
  readonly #env: { readonly clock: Clock; readonly timers: Pick<Timers, 'after'> }
  readonly #perSecond: number
  #freeAtMs = Number.NEGATIVE_INFINITY

  constructor(perSecond: number, env: { readonly clock: Clock; readonly timers: Pick<Timers, 'after'> }) {
    this.#perSecond = perSecond
    this.#env = env
  }

  /** The largest batch that keeps waits at about a quarter of a second. */
  get countMax(): number {
    return Math.max(1, Math.floor(this.#perSecond / 4))
  }

  /** Resolves when this many messages may proceed. */
  async pass(count: number): Promise<void> {
    const now = this.#env.clock.nowMs()
    const mine = Math.max(now, this.#freeAtMs)
    this.#freeAtMs = mine + (count * 1_000) / this.#perSecond
    if (mine > now) await new Promise<void>(resolve => void this.#env.timers.after(mine - now, resolve))
  }
}
