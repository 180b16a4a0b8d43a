import type { Environment } from '../environment.ts'
import type { Received } from '../message/received.ts'
import type { Delivery } from '../ports/source.ts'

const everyMs = 1_000

/** The highest age that is accepted from a producer’s timestamp. */
const agesMaxMs = 366 * 24 * 3_600_000

/** `now` is the wall clock, which producers’ timestamps are compared with. */
export interface UnfinishedOptions {
  readonly env: Pick<Environment, 'clock' | 'timers'>
  readonly unfinished: () => Iterable<Received>
  readonly now: () => number
}

/**
 * The age of the oldest unfinished message of this process: since its timestamp where it has one, else since
 * this process first saw it. It scans the unfinished messages once a second, a few thousand at most, so that
 * reading and applying pay nothing for it.
 */
export class UnfinishedWatch {
  readonly #options: UnfinishedOptions
  #seen = new Map<Delivery, number>()
  #cancel: () => void = () => {}

  constructor(options: UnfinishedOptions) {
    this.#options = options
    this.#later()
  }

  /** Null when nothing is unfinished. */
  oldestMs(): number | null {
    this.#look()
    const nowMs = this.#options.env.clock.nowMs()
    const wallMs = this.#options.now()
    let oldest: number | null = null
    for (const [delivery, sinceMs] of this.#seen) {
      const timestampMs = delivery.properties.timestampMs
      const givenMs = Number.isFinite(timestampMs) ? Math.min(agesMaxMs, wallMs - timestampMs!) : 0
      oldest = Math.max(oldest ?? 0, nowMs - sinceMs, givenMs)
    }
    return oldest
  }

  stop(): void {
    this.#cancel()
    this.#seen.clear()
  }

  #later(): void {
    this.#cancel = this.#options.env.timers.after(everyMs, () => {
      this.#look()
      this.#later()
    })
  }

  #look(): void {
    const nowMs = this.#options.env.clock.nowMs()
    const seen = new Map<Delivery, number>()
    for (const { delivery } of this.#options.unfinished())
      seen.set(delivery, this.#seen.get(delivery) ?? nowMs)
    this.#seen = seen
  }
}
