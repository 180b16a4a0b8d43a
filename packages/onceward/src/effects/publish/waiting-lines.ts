import type { LeftAlone, OutboxPlace, OutboxRow } from '../../drivers/postgres/outbox/take-rows.ts'
import { retryDelayMs } from '../../engine/retry/retry-delay.ts'
import type { Environment } from '../../environment.ts'
import { isRefusal } from './broker-pause.ts'
import { lineOf } from './line-of.ts'

const delayMinMs = 100
const afterRefusal = { delayMs: 1_000, delayMaxMs: 60_000 }
const afterTrouble = { delayMs: 200, delayMaxMs: 5_000 }
/**
 * A queue with this many failing keys is skipped as a whole until some of them are due: the queue is the
 * cause.
 */
const perQueueMax = 100
const forgetAfterMs = 300_000

interface Waiting extends OutboxPlace {
  readonly key: string | null
  readonly id: string
  readonly failures: number
  readonly untilMs: number
}

/**
 * Keys, and rows without a key, that wait behind a message the broker did not accept. Kept in memory: a relay
 * that starts or takes over a bucket retries them immediately, which is harmless. The number of failures and
 * the last error are stored in the row.
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
