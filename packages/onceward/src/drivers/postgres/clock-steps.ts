import type { Clock, Log } from '../../environment.ts'
import { errorText } from '../../errors.ts'
import type { SqlClient } from './pool.ts'

/** Smaller steps are within what the horizon allows for. */
const stepMs = 60_000

const record = `insert into onceward.clock_step (moved) values ($1::double precision * interval '1 millisecond')`

/**
 * Sees the database's clock being set forward, as after a time in which it was behind: markers of that time
 * look older than they are. Retention keeps everything longer by what is recorded here.
 */
export class ClockSteps {
  /** Of each even clock: the least by which the database's time was ahead of it since the last step. */
  readonly #lowestMs = new WeakMap<Clock, number>()
  readonly #client: SqlClient
  readonly #log: Log

  constructor(client: SqlClient, log: Log) {
    this.#client = client
    this.#log = log
  }

  /**
   * `askedMs`: by `clock`, just before the database was asked for its time. A step that could not be recorded
   * is seen again by the next look.
   */
  async look(clock: Clock, askedMs: number, databaseMs: number): Promise<void> {
    const lowestMs = this.#lowestMs.get(clock) ?? Number.POSITIVE_INFINITY
    const aheadMs = databaseMs - askedMs
    // The answer may have been under way for long: what is left without that time is a step.
    if (databaseMs - clock.nowMs() - lowestMs <= stepMs) {
      this.#lowestMs.set(clock, Math.min(lowestMs, aheadMs))
      return
    }
    const movedMs = aheadMs - lowestMs
    try {
      await this.#client.query(record, [movedMs])
      this.#lowestMs.set(clock, aheadMs)
      this.#log.warn("the database's clock was set forward: retention keeps everything longer by as much", {
        movedMs,
      })
    } catch (error) {
      const fields = { movedMs, error: errorText(error) }
      this.#log.error("the database's clock was set forward, and this could not be recorded yet", fields)
    }
  }
}
