import type { Clock, Log } from '../../environment.ts'
import { errorText } from '../../errors.ts'
import type { SqlClient } from './pool.ts'

/** Smaller steps are within the tolerance of the horizon. */
const stepMs = 60_000

const record = `insert into onceward.clock_step (moved) values ($1::double precision * interval '1 millisecond')`

/**
 * Detects that the database clock was set forward, as after a time in which it was behind: markers of that
 * time look older than they are. Retention keeps rows longer by the recorded steps.
 */
export class ClockSteps {
  /** For each monotonic clock: the smallest lead of the database time since the last step. */
  readonly #lowestMs = new WeakMap<Clock, number>()
  readonly #client: SqlClient
  readonly #log: Log

  constructor(client: SqlClient, log: Log) {
    this.#client = client
    this.#log = log
  }

  /**
   * `askedMs`: the time of `clock` just before the query. A step that could not be recorded is detected again
   * by the next call.
   */
  async look(clock: Clock, askedMs: number, databaseMs: number): Promise<void> {
    const lowestMs = this.#lowestMs.get(clock) ?? Number.POSITIVE_INFINITY
    const aheadMs = databaseMs - askedMs
    // The answer may have been delayed: only the lead beyond that delay is a step.
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
