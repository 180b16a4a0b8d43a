import { liesInDays } from '../../drivers/postgres/retention/marker-tables.ts'
import { errorText } from '../../errors.ts'
import { type PurgeOptions, purgeConsumer } from './purge-consumer.ts'
import { declareTerms, recordPassBegin, recordPassEnd } from './record-pass.ts'

export interface RetentionLoopOptions extends Omit<PurgeOptions, 'consumerId' | 'signal' | 'onProgress'> {
  /** Known once the consumer has enrolled. */
  readonly consumerId: () => Promise<number>
  /** The longest time after which a duplicate can arrive; null without markers. */
  readonly redeliveredMs?: number | null
  /** Whether the consumer has no backlog. */
  readonly caughtUp: () => boolean
  /** Delay of the first pass. Default 10 min. */
  readonly firstAfterMs?: number
  /** From the end of one pass to the next. Default one hour. */
  readonly everyMs?: number
}

const firstAfterDefaultMs = 600_000
const everyDefaultMs = 3_600_000
/** How often the backlog is checked, and how long it may delay the first pass. */
const lookMs = 1_000
const backlogMaxMs = 6 * 3_600_000

/**
 * Removes the old rows of a consumer while it runs:
 *
 *   new ──start──▶ waiting ──first delay passed, and caught up──▶ passing ⇄ waiting ──drain, leave──▶ stopped
 *
 * No pass runs at start: a message redelivered after a long stop must still find its marker. An error ends
 * the pass, never the consumer: the next pass continues with the remaining rows.
 */
export class RetentionLoop {
  readonly #options: RetentionLoopOptions
  readonly #stopping = new AbortController()
  readonly #done = Promise.withResolvers<void>()
  #startedMs = 0
  #caughtUp = false
  #passing = false
  #cancel: () => void = () => {}

  constructor(options: RetentionLoopOptions) {
    this.#options = options
  }

  get finished(): Promise<void> {
    return this.#done.promise
  }

  async start(): Promise<void> {
    const { pool, env, retention, redeliveredMs, firstAfterMs = firstAfterDefaultMs } = this.#options
    this.#startedMs = env.clock.nowMs()
    this.#after(firstAfterMs, () => void this.#look())
    await this.#record(id => declareTerms(pool, id, retention, firstAfterMs, redeliveredMs))
    if (retention.partitions === 'daily') await this.#record(id => this.#warnWithoutDays(id))
  }

  async #warnWithoutDays(consumerId: number): Promise<void> {
    const { pool, env, consumerName } = this.#options
    if (await liesInDays(pool, consumerId)) return
    env.log.warn(
      'markers are not in daily partitions yet and are removed row by row; run "onceward retention partition" as the owner of the schema',
      { consumer: consumerName },
    )
  }

  kick(): void {}

  drain(): Promise<void> {
    this.leave()
    return this.#done.promise
  }

  leave(): void {
    this.#stopping.abort()
    this.#cancel()
    if (!this.#passing) this.#done.resolve()
  }

  #after(delayMs: number, callback: () => void): void {
    if (this.#stopping.signal.aborted) return
    this.#cancel()
    this.#cancel = this.#options.env.timers.after(delayMs, callback)
  }

  async #look(): Promise<void> {
    const { env, caughtUp, everyMs = everyDefaultMs } = this.#options
    this.#caughtUp ||= caughtUp() || env.clock.nowMs() - this.#startedMs > backlogMaxMs
    if (!this.#caughtUp) return this.#after(lookMs, () => void this.#look())
    this.#passing = true
    const note = await this.#pass()
    await this.#record(id => recordPassEnd(this.#options.pool, id, everyMs, note))
    this.#passing = false
    if (this.#stopping.signal.aborted) this.#done.resolve()
    else this.#after(everyMs, () => void this.#look())
  }

  /** Why the pass was incomplete; null when it was complete. */
  async #pass(): Promise<string | null> {
    const { env, consumerName } = this.#options
    const who = { consumer: consumerName }
    try {
      const consumerId = await this.#options.consumerId()
      await recordPassBegin(this.#options.pool, consumerId)
      const { removed, ended, putOff } = await purgeConsumer({
        ...this.#options,
        consumerId,
        signal: this.#stopping.signal,
      })
      if (Object.values(removed).some(count => count > 0))
        env.log.info('old rows removed', { ...who, ...removed })
      return ended ?? putOff
    } catch (error) {
      env.log.error('retention pass failed, old rows stay; the consumer continues', {
        ...who,
        error: errorText(error),
      })
      return errorText(error, 500)
    }
  }

  /** For status views only: an unavailable database must not stop the loop. */
  async #record(write: (consumerId: number) => Promise<void>): Promise<void> {
    try {
      await write(await this.#options.consumerId())
    } catch (error) {
      const { env, consumerName } = this.#options
      env.log.warn('retention state not recorded', {
        consumer: consumerName,
        error: errorText(error),
      })
    }
  }
}
