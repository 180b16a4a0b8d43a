import type { FirstSeen } from '../drivers/postgres/gauges/first-seen.ts'
import type { Environment } from '../environment.ts'
import type { Received } from '../message/received.ts'
import type { Delivery } from '../ports/source.ts'
import { FirstSeenAges, type Untimed } from './first-seen-ages.ts'

const everyMs = 1_000

/** The highest age that is accepted from a producer’s timestamp. */
const agesMaxMs = 366 * 24 * 3_600_000

/** `now` is the wall clock, which producers’ timestamps are compared with. */
export interface UnfinishedOptions {
  readonly env: Pick<Environment, 'clock' | 'timers'>
  readonly unfinished: () => Iterable<Received>
  readonly now: () => number
  readonly firstSeen: FirstSeen
  /** False once the process gives unfinished messages back: they have not ended. */
  readonly running: () => boolean
}

interface Seen extends Untimed {
  delivery: Delivery
}

/**
 * The age of the oldest unfinished message of this process: since its timestamp where it has one, else since
 * this process or an earlier one first saw it. It scans the unfinished messages once a second, a few thousand
 * at most, so that reading and applying pay nothing for it.
 */
export class UnfinishedWatch {
  readonly #options: UnfinishedOptions
  readonly #ages: FirstSeenAges
  #seen = new Map<string | Delivery, Seen>()
  #cancel: () => void = () => {}

  constructor(options: UnfinishedOptions) {
    this.#options = options
    this.#ages = new FirstSeenAges(options.firstSeen, options.env.clock)
    this.#later()
  }

  /** Null when nothing is unfinished. */
  oldestMs(): number | null {
    this.#look()
    const nowMs = this.#options.env.clock.nowMs()
    const wallMs = this.#options.now()
    let oldest: number | null = null
    for (const { delivery, sinceMs } of this.#seen.values()) {
      const timestampMs = delivery.properties.timestampMs
      const givenMs = Number.isFinite(timestampMs) ? Math.min(agesMaxMs, wallMs - timestampMs!) : 0
      oldest = Math.max(oldest ?? 0, nowMs - sinceMs, givenMs)
    }
    return oldest
  }

  /** Resolves when no statement is in progress. */
  async stop(): Promise<void> {
    this.#cancel()
    this.#seen.clear()
    await this.#ages.idle()
  }

  #later(): void {
    this.#cancel = this.#options.env.timers.after(everyMs, () => {
      this.#look()
      this.#later()
    })
  }

  /** Keyed by id: after a lost connection the same message is another delivery, and keeps its age. */
  #look(): void {
    const { env, unfinished, running } = this.#options
    const nowMs = env.clock.nowMs()
    const wallMs = this.#options.now()
    const seen = new Map<string | Delivery, Seen>()
    const untimed = new Map<string, Untimed>()
    for (const { id, delivery } of unfinished()) {
      const key = id ?? delivery
      const one = this.#seen.get(key) ?? { delivery, sinceMs: nowMs, redelivered: delivery.redelivered }
      one.delivery = delivery
      seen.set(key, one)
      if (Number.isFinite(delivery.properties.timestampMs)) continue
      if ('firstSeenMs' in delivery) delivery.firstSeenMs = wallMs - (nowMs - one.sinceMs)
      // Held work has a first-seen time of its own.
      if (id !== null && delivery.held === undefined) untimed.set(id, one)
    }
    this.#seen = seen
    if (running()) this.#ages.look(untimed)
  }
}
