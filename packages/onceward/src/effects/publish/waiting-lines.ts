import { retryDelayMs } from '../../engine/retry/retry-delay.ts'
import type { Environment } from '../../environment.ts'
import { isRefusal } from './broker-pause.ts'
import { lineOf } from './line-of.ts'
import type { OutboxRow } from './take-rows.ts'

const delayMinMs = 100
const afterRefusal = { delayMs: 1_000, delayMaxMs: 60_000 }
const afterTrouble = { delayMs: 200, delayMaxMs: 5_000 }
/**
 * A queue with this many failing lines is left alone until some of them are due: the trouble is the queue's.
 */
const perQueueMax = 100
const forgetAfterMs = 300_000

/** A queue or topic, or an exchange with a routing key. */
interface Place {
  readonly exchange: string | null
  readonly queue: string
}

interface Waiting extends Place {
  readonly key: string | null
  readonly id: string
  readonly failures: number
  readonly untilMs: number
}

/** What a round must not take. */
export interface LeftAlone {
  /** Rows without a key, by id. */
  readonly ids: readonly string[]
  readonly keys: readonly (Place & { readonly key: string })[]
  readonly places: readonly Place[]
}

/**
 * Keys, and rows without one, that wait behind a message the broker did not take. Kept in memory: a relay
 * that starts anew or takes a bucket over tries them at once, which is harmless; how often a row has failed
 * and why stands in the row.
 */
export class WaitingLines {
  readonly #env: Pick<Environment, 'clock' | 'random'>
  readonly #lines = new Map<string, Waiting>()

  constructor(env: Pick<Environment, 'clock' | 'random'>) {
    this.#env = env
  }

  get count(): number {
    return this.#lines.size
  }

  add({ id, message }: OutboxRow, error: Error): void {
    const name = lineOf(message) ?? id
    const failures = (this.#lines.get(name)?.failures ?? 0) + 1
    const delays = isRefusal(error) ? afterRefusal : afterTrouble
    const delayMs = retryDelayMs({ attempts: failures, random: this.#env.random() }, delays)
    const untilMs = this.#env.clock.nowMs() + Math.max(delayMinMs, delayMs)
    const { exchange, queue, key } = message
    this.#lines.set(name, { exchange, queue, key, id, failures, untilMs })
  }

  remove({ id, message }: OutboxRow): void {
    if (this.#lines.size > 0) this.#lines.delete(lineOf(message) ?? id)
  }

  leftAlone(): LeftAlone | null {
    if (this.#lines.size === 0) return null
    const nowMs = this.#env.clock.nowMs()
    const due = [...this.#lines].filter(([name, { untilMs }]) => {
      if (untilMs + forgetAfterMs < nowMs) this.#lines.delete(name)
      return untilMs > nowMs
    })
    if (due.length === 0) return null
    const waiting = due.map(([, line]) => line)
    const places = [...Map.groupBy(waiting, line => lineOf({ ...line, key: '' })).values()]
      .filter(lines => lines.length >= perQueueMax)
      .map(([line]) => line!)
    return {
      places,
      ids: waiting.filter(({ key }) => key === null).map(({ id }) => id),
      keys: waiting.flatMap(({ exchange, queue, key }) => (key === null ? [] : [{ exchange, queue, key }])),
    }
  }
}
