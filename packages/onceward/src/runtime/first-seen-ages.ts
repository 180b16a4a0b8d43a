import type { FirstSeen } from '../drivers/postgres/gauges/first-seen.ts'
import type { Clock } from '../environment.ts'

/** An unfinished message without a timestamp. `sinceMs` is on the clock of this process. */
export interface Untimed {
  sinceMs: number
  readonly redelivered: boolean
}

/** Younger messages have no row, so that a consumer without slow messages writes nothing. */
export const keptAfterMs = 5_000
/** Only the oldest message is reported: rows of a few are enough, and cost one short statement. */
const keptMax = 100
/** Rows looked up in one scan. */
const askedMax = 100

/**
 * Makes the age of messages without a timestamp outlast this process. Once a message has been unfinished for
 * seconds, its first-seen time gets a row. A message that a broker delivers again, or that is slow here too,
 * takes the time of its row or of its first failed attempt. One round of statements at a time; when the
 * database does not answer, ages count from this process.
 */
export class FirstSeenAges {
  readonly #store: FirstSeen
  readonly #clock: Clock
  /** Messages whose row was looked up. */
  readonly #asked = new Set<string>()
  /** Messages that have a row, as far as this process knows. */
  readonly #kept = new Set<string>()
  #cleared = false
  #round: Promise<void> | null = null

  constructor(store: FirstSeen, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Called on every scan with all unfinished messages without a timestamp. Corrects their `sinceMs`. */
  look(untimed: ReadonlyMap<string, Untimed>): void {
    if (this.#round !== null || !this.#hasWork(untimed)) return
    this.#round = this.#work(untimed)
      .catch(() => {})
      .finally(() => {
        this.#round = null
      })
  }

  /** Resolves when no statement is in progress. */
  async idle(): Promise<void> {
    await this.#round
  }

  #hasWork(untimed: ReadonlyMap<string, Untimed>): boolean {
    return untimed.size > 0 || this.#asked.size > 0
  }

  async #work(untimed: ReadonlyMap<string, Untimed>): Promise<void> {
    await this.#forget([...this.#asked].filter(id => !untimed.has(id)))
    const due = [...untimed].filter(([id, one]) => !this.#asked.has(id) && this.#isDue(one))
    await this.#recall(due.slice(0, askedMax))
    const slow = [...untimed].filter(([id, one]) => this.#asked.has(id) && this.#isSlow(one))
    await this.#keep(slow)
  }

  #isSlow({ sinceMs }: Untimed): boolean {
    return this.#clock.nowMs() - sinceMs >= keptAfterMs
  }

  #isDue(one: Untimed): boolean {
    return one.redelivered || this.#isSlow(one)
  }

  async #forget(gone: readonly string[]): Promise<void> {
    const rows = gone.filter(id => this.#kept.has(id))
    if (rows.length > 0) await this.#store.forget(rows)
    for (const id of gone) {
      this.#asked.delete(id)
      this.#kept.delete(id)
    }
  }

  async #recall(due: readonly (readonly [string, Untimed])[]): Promise<void> {
    if (due.length === 0) return
    if (!this.#cleared) await this.#store.clear()
    this.#cleared = true
    const known = await this.#store.recall(due.map(([id]) => id))
    const nowMs = this.#clock.nowMs()
    for (const [id, one] of due) {
      this.#asked.add(id)
      const ageMs = known.get(id)
      if (ageMs === undefined) continue
      this.#kept.add(id)
      one.sinceMs = Math.min(one.sinceMs, nowMs - ageMs)
    }
  }

  async #keep(slow: readonly (readonly [string, Untimed])[]): Promise<void> {
    const room = keptMax - this.#kept.size
    if (room <= 0) return
    const oldest = slow
      .filter(([id]) => !this.#kept.has(id))
      .sort(([, a], [, b]) => a.sinceMs - b.sinceMs)
      .slice(0, room)
    if (oldest.length === 0) return
    const nowMs = this.#clock.nowMs()
    await this.#store.keep(oldest.map(([id, { sinceMs }]) => ({ id, ageMs: nowMs - sinceMs })))
    for (const [id] of oldest) this.#kept.add(id)
  }
}
