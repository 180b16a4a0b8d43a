import type { Consumer } from '../contract/define-consumer.ts'
import type { SqlTransaction } from '../contract/handler.ts'
import type { Environment } from '../environment.ts'
import { errorText } from '../errors.ts'
import { levelQueue } from '../ports/retry-levels.ts'
import type { TopicLimits } from '../ports/topic-limits.ts'
import type { RelayHandle } from './open-relays.ts'
import type { Outlet } from './outlet.ts'

const everyMs = 300_000
/** After a request that no broker answered. */
const againMs = 30_000
/** Minimum time between two requests, regardless of refusals. */
const pauseMs = 5_000
/** How long a start waits for the first answer. */
const firstMs = 3_000

export interface LimitsOptions {
  readonly outlet: Outlet
  readonly topics: readonly string[]
  /** This object closes the outlet. */
  readonly owned: boolean
  readonly env: Pick<Environment, 'timers' | 'clock' | 'log'>
}

/**
 * Message size limits of the consumer's Kafka topics. They are requested at start, every five minutes, and
 * soon after a message did not fit; never in a batch. If a limit is unknown, or the login may not read it,
 * the fixed limit applies. A learned limit stays while no broker answers.
 */
export class LearnedLimits implements TopicLimits, RelayHandle {
  readonly finished: Promise<void>
  readonly #options: LimitsOptions
  readonly #end = Promise.withResolvers<void>()
  readonly #known = new Map<string, number>()
  #reading: Promise<void> | null = null
  #readMs = Number.NEGATIVE_INFINITY
  #cancel: () => void = () => {}
  #closed = false
  #reported = ''

  constructor(options: LimitsOptions) {
    this.#options = options
    this.finished = this.#end.promise
  }

  bytesMax(topic: string): number | null {
    return this.#known.get(topic) ?? null
  }

  isOf(outlet: Outlet): boolean {
    return this.#options.outlet === outlet
  }

  doubt(): void {
    const { clock } = this.#options.env
    if (this.#reading === null) this.#plan(Math.max(0, this.#readMs + pauseMs - clock.nowMs()))
  }

  async start(): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const cancel = this.#options.env.timers.after(firstMs, resolve)
    await Promise.race([this.#read(), late]).finally(cancel)
  }

  kick(): void {}

  async drain(): Promise<void> {
    this.leave()
    await this.finished
  }

  leave(): void {
    this.#closed = true
    this.#cancel()
    const { owned, outlet } = this.#options
    void (owned ? outlet.close() : Promise.resolve()).finally(() => this.#end.resolve())
  }

  #plan(delayMs: number): void {
    this.#cancel()
    if (!this.#closed) this.#cancel = this.#options.env.timers.after(delayMs, () => void this.#read())
  }

  #read(): Promise<void> {
    this.#reading ??= this.#learn().finally(() => {
      this.#reading = null
    })
    return this.#reading
  }

  async #learn(): Promise<void> {
    const { outlet, topics, env } = this.#options
    this.#readMs = env.clock.nowMs()
    try {
      this.#note(await outlet.publisher.readLimits!(topics))
      this.#plan(everyMs)
    } catch (error) {
      this.#say(errorText(error))
      this.#plan(againMs)
    }
  }

  #note(limits: ReadonlyMap<string, number | Error>): void {
    const unknown: string[] = []
    for (const [topic, limit] of limits) {
      if (typeof limit === 'number') this.#known.set(topic, limit)
      else unknown.push(errorText(limit))
    }
    this.#options.env.log.debug('limits of Kafka topics read', Object.fromEntries(this.#known))
    this.#say(unknown.join('; '))
  }

  /** Logs each reason once, not every five minutes. */
  #say(unknown: string): void {
    const { env, outlet } = this.#options
    if (unknown !== '' && unknown !== this.#reported && !this.#closed)
      env.log.info('max.message.bytes of Kafka topics is unknown; using the declared or fixed limit', {
        broker: outlet.label,
        reason: unknown,
      })
    this.#reported = unknown
  }
}

/** Topics of this consumer's outbox rows on the cluster of the outlet. */
export function topicsOf<M>(
  consumer: Consumer<M, SqlTransaction>,
  { destination }: Outlet,
): readonly string[] {
  const { failure, effect, source } = consumer
  const published = Object.values(effect?.publish ?? {}).flatMap(target => {
    const here = target.destination === undefined || target.destination === destination
    return target.broker === 'kafka' && here ? [target.topic] : []
  })
  if (source.kind !== 'kafka') return [...new Set(published)]
  const { topic } = source as typeof source & { readonly topic: string }
  const levels = failure.retryLevelsMs.map(levelMs => levelQueue(topic, levelMs))
  return [...new Set([...published, ...levels, ...(failure.deadLetter === null ? [] : [failure.deadLetter])])]
}
