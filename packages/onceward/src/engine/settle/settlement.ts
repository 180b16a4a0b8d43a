import type { Received } from '../../message/received.ts'
import { messagingSystem } from '../../ports/messaging-system.ts'
import type { Delivery } from '../../ports/source.ts'
import type { Decided } from '../batch/batch-attempt.ts'
import type { Tally } from '../consumer/tally.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import { type BatchTime, type Counted, decisionCounter } from './count-decided.ts'
import { logDecided } from './log-decided.ts'
import { MessageGroups } from './message-counts.ts'

/**
 * When deliveries are settled. `batch`, for queues: after the batch, in the order in which batches started. A
 * broker acknowledges a gapless run of deliveries with one frame, but needs a frame for each single delivery.
 * `commit`, for logs: after each commit. `first`: before the effect.
 */
export type SettleTiming = 'batch' | 'commit' | 'first'

/** One batch from its start until it is settled. */
export interface Settlement {
  beforeEffect(): Promise<void>
  afterCommit(decided: readonly Decided[]): void
  afterBatch(decided: readonly Decided[]): Promise<void>
  /** The batch waits for a lock or the store: later batches may be settled before it. */
  letOthersPass(): void
  end(): void
}

/** Acknowledges durable deliveries, counts and logs them, and tracks the batches in progress. */
export class Settlements {
  readonly #context: ConsumerContext
  readonly #tally: Tally
  readonly #count: (decided: readonly Decided[], time: BatchTime) => Counted
  readonly #inProgress = new Map<readonly Received[], Promise<void>>()
  #last: Promise<void> = Promise.resolve()

  constructor(context: ConsumerContext, tally: Tally) {
    const { consumer, env, mode } = context
    this.#context = context
    this.#tally = tally
    this.#count = decisionCounter(consumer, env.metrics, mode !== 'live')
  }

  get idle(): boolean {
    return this.#inProgress.size === 0
  }

  /** Messages of the batches in progress. */
  *inProgress(): Iterable<Received> {
    for (const batch of this.#inProgress.keys()) yield* batch
  }

  begin(batch: readonly Received[]): Settlement {
    const timing = this.#context.settleTiming
    const earlier = this.#last
    const { promise, resolve: letOthersPass } = Promise.withResolvers<void>()
    this.#last = promise
    this.#inProgress.set(batch, promise)
    const settled: Promise<void>[] = []
    const beganMs = this.#context.env.clock.nowMs()
    return {
      beforeEffect: async () => {
        if (timing === 'first') await this.#settle(batch.map(({ delivery }) => delivery))
      },
      afterCommit: decided => {
        if (timing === 'commit') settled.push(this.#settle(this.#durable(decided, beganMs)))
      },
      afterBatch: async decided => {
        if (timing === 'commit') return void (await Promise.all(settled))
        const durable = this.#durable(decided, beganMs)
        if (timing === 'first') return
        await earlier
        await this.#settle(durable)
      },
      letOthersPass,
      end: () => {
        this.#inProgress.delete(batch)
        letOthersPass()
      },
    }
  }

  /** Resolves when no batch with such a message is in a transaction. */
  async without(matches: (received: Received) => boolean): Promise<void> {
    const touched = [...this.#inProgress].filter(([batch]) => batch.some(matches))
    await Promise.all(touched.map(([, passed]) => passed))
  }

  async #settle(deliveries: readonly Delivery[]): Promise<void> {
    if (deliveries.length === 0) return
    const { consumer, subscription, env } = this.#context
    const began = env.clock.nowMs()
    const { missed } = await subscription.settle(deliveries)
    const labels = { consumer: consumer.name, 'messaging.system': messagingSystem(consumer.source.kind) }
    env.metrics.record('settleDuration', (env.clock.nowMs() - began) / 1000, labels)
    if (missed > 0) env.metrics.add('settleMissed', missed, { consumer: consumer.name })
    this.#tally.missed(missed)
    env.reach('batch.settled')
  }

  /** Those that were parked are counted by their code. */
  #countBehindHorizon(decided: readonly Decided[]): void {
    const { consumer, horizon, env } = this.#context
    if (horizon?.isApplied === undefined) return
    const groups = new MessageGroups(consumer.name, null)
    for (const { received, decision } of decided)
      if (decision.outcome !== 'retry' && decision.code !== 'behind_horizon' && horizon.isApplied(received))
        groups.of(received)
    for (const { labels, size } of groups) env.metrics.add('behindHorizon', size, labels)
  }

  /**
   * Counts and logs decisions; returns the deliveries to settle. A worker's retries are durable in the store.
   */
  #durable(decided: readonly Decided[], beganMs: number): Delivery[] {
    const { consumer, stage, env } = this.#context
    logDecided(consumer.name, decided, env.log)
    const seconds = (env.clock.nowMs() - beganMs) / 1_000
    const { outcomes, conflicts } = this.#count(decided, { seconds, stage })
    this.#tally.decided(outcomes, conflicts)
    this.#countBehindHorizon(decided)
    const durable: Delivery[] = []
    for (const { received, decision } of decided)
      if (decision.outcome !== 'retry' || stage === 'work') durable.push(received.delivery)
    return durable
  }
}
