import type { FailureRules } from '../../contract/failure-rules.ts'
import type { Clock } from '../../environment.ts'
import type { ReadableMessage, Received } from '../../message/received.ts'
import type { Delivery } from '../../ports/source.ts'
import type { Fact } from '../batch/outcome.ts'
import { retryDelayMs } from './retry-delay.ts'

/** Most messages whose wait is remembered; the oldest are dropped, and wait once more. */
const rememberedMax = 10_000

/**
 * What the contract says about messages that the broker delivers again and again. The count of deliveries is
 * no identity: it is looked at only after the marker showed that the message is new.
 */
export class Redelivery {
  readonly #rules: FailureRules['redelivery']
  readonly #delays: Pick<FailureRules['rules']['unclassified'], 'delayMs' | 'delayMaxMs'>
  readonly #clock: Clock
  readonly #waitsUntilMs = new Map<string, number>()

  constructor({ redelivery, rules }: Pick<FailureRules, 'redelivery' | 'rules'>, clock: Clock) {
    this.#rules = redelivery
    this.#delays = rules.unclassified
    this.#clock = clock
  }

  /** Messages are tried in transactions of their own. */
  get isolatesSome(): boolean {
    return this.#rules?.action === 'isolated'
  }

  /** The delivery reached the threshold. A message from the store was not delivered by the broker. */
  isReached({ deliveryCount, held }: Delivery): boolean {
    return this.#rules !== null && held === undefined && deliveryCount >= this.#rules.countMax
  }

  isolates({ delivery }: Received): boolean {
    return this.isolatesSome && this.isReached(delivery)
  }

  /** Adds a fact for new messages that wait or are not tried. May be called again after a rollback. */
  check<M>(fresh: readonly ReadableMessage<M>[], facts: Map<Received<M>, Fact>): void {
    if (this.#rules === null || this.isolatesSome) return
    for (const received of fresh) {
      const { deliveryCount: count } = received.delivery
      if (facts.has(received) || !this.isReached(received.delivery)) continue
      const delayMs = this.#rules.action === 'slowed' ? this.#waitMs(received.id, count) : null
      if (delayMs !== 0) facts.set(received, { kind: 'redelivered', count, delayMs })
    }
  }

  /** What is left of the wait of this delivery. */
  #waitMs(id: string, count: number): number {
    const nowMs = this.#clock.nowMs()
    const delivery = `${id}\0${count}`
    let untilMs = this.#waitsUntilMs.get(delivery)
    if (untilMs === undefined) {
      const attempts = count - this.#rules!.countMax + 1
      untilMs = nowMs + retryDelayMs({ attempts, random: 1 }, { ...this.#delays, jitter: false })
      this.#waitsUntilMs.set(delivery, untilMs)
      if (this.#waitsUntilMs.size > rememberedMax)
        this.#waitsUntilMs.delete(this.#waitsUntilMs.keys().next().value!)
    }
    return Math.max(0, untilMs - nowMs)
  }
}
