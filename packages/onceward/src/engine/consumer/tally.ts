import type { BreakerView } from '../retry/breaker.ts'

/** Counts since the start of the process, for status views. The metrics export the same numbers. */
export interface TallySnapshot {
  readonly delivered: number
  readonly redelivered: number
  readonly outcomes: Readonly<Record<string, number>>
  readonly conflicts: number
  readonly settleMissed: number
  readonly batchesInFlight: number
  readonly held: number
  readonly storeUnavailable: boolean
  /**
   * Whether the source is paused because a dependency is unavailable; `probing`: one message at a time is
   * tried.
   */
  readonly breaker: BreakerView['state']
}

export class Tally {
  #delivered = 0
  #redelivered = 0
  #conflicts = 0
  #missed = 0
  readonly #outcomes: Record<string, number> = {}

  delivered(count: number, redelivered: number): void {
    this.#delivered += count
    this.#redelivered += redelivered
  }

  decided(counts: ReadonlyMap<string, number>, conflicts: number): void {
    for (const [outcome, count] of counts) this.#outcomes[outcome] = (this.#outcomes[outcome] ?? 0) + count
    this.#conflicts += conflicts
  }

  missed(count: number): void {
    this.#missed += count
  }

  snapshot(
    batchesInFlight: number,
    held: number,
    storeUnavailable: boolean,
    breaker: BreakerView['state'],
  ): TallySnapshot {
    return {
      delivered: this.#delivered,
      redelivered: this.#redelivered,
      outcomes: { ...this.#outcomes },
      conflicts: this.#conflicts,
      settleMissed: this.#missed,
      batchesInFlight,
      held,
      storeUnavailable,
      breaker,
    }
  }
}
