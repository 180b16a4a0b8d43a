import type { Delivery, Subscription } from '../../contracts/source.ts'
import type { Received } from '../../message/received.ts'
import type { Surroundings } from '../../surroundings.ts'
import type { Decided } from '../batch/commit-batch.ts'
import type { Tally } from '../consumer/tally.ts'
import type { Counted } from './count-decided.ts'

/**
 * When the source is told. `queue`: after the batch, batches in the order of their start: a broker can be told of a gapless run in one word,
 * of single ones only one by one. `log`: after each commit, whose records then count as done. `first`: before anything is tried.
 */
export type TellingTime = 'queue' | 'log' | 'first'

/** One batch from its start until the source has been told. */
export interface Settlement {
  before(): Promise<void>
  committed(decided: readonly Decided[]): void
  after(decided: readonly Decided[]): Promise<void>
  /** The batch waits for a lock or the store: it holds nobody up. */
  pass(): void
  end(): void
}

export interface SettlingOptions {
  /** What is to be tried again was put off in the store, and is not held here. */
  readonly retriesDurable: boolean
  /** Counts what a batch came to. */
  readonly count: (decided: readonly Decided[]) => Counted
  /** The broker, as metrics name it. */
  readonly system: string
}

/** Tells the source what is durable, counts it, and knows which batches are under way. */
export class Settling {
  readonly #consumer: string
  readonly #world: Surroundings
  readonly #tally: Tally
  readonly #options: SettlingOptions
  readonly #underWay = new Map<readonly Received[], Promise<void>>()
  #last: Promise<void> = Promise.resolve()

  constructor(consumer: string, world: Surroundings, tally: Tally, options: SettlingOptions) {
    this.#consumer = consumer
    this.#world = world
    this.#tally = tally
    this.#options = options
  }

  get idle(): boolean {
    return this.#underWay.size === 0
  }

  /** Messages of the batches that are on their way. */
  *underWay(): Iterable<Received> {
    for (const batch of this.#underWay.keys()) yield* batch
  }

  begin(batch: readonly Received[], when: TellingTime, subscription: Subscription): Settlement {
    const earlier = this.#last
    const { promise, resolve: pass } = Promise.withResolvers<void>()
    this.#last = promise
    this.#underWay.set(batch, promise)
    const told: Promise<void>[] = []
    const tell = (deliveries: readonly Delivery[]) => this.#tell(deliveries, subscription)
    return {
      before: async () => {
        if (when === 'first') await tell(batch.map(({ delivery }) => delivery))
      },
      committed: decided => {
        if (when === 'log') told.push(tell(this.#count(decided)))
      },
      after: async decided => {
        if (when === 'log') return void (await Promise.all(told))
        const durable = this.#count(decided)
        if (when === 'first') return
        await earlier
        await tell(durable)
      },
      pass,
      end: () => {
        this.#underWay.delete(batch)
        pass()
      },
    }
  }

  /** Resolves when no batch with such a message is in a transaction. */
  async without(matches: (received: Received) => boolean): Promise<void> {
    const touched = [...this.#underWay].filter(([batch]) => batch.some(matches))
    await Promise.all(touched.map(([, passed]) => passed))
  }

  async #tell(deliveries: readonly Delivery[], subscription: Subscription): Promise<void> {
    if (deliveries.length === 0) return
    const { clock, metrics } = this.#world
    const consumer = this.#consumer
    const began = clock.nowMs()
    const { missed } = await subscription.settle(deliveries)
    const labels = { consumer, 'messaging.system': this.#options.system }
    metrics.record('settleDuration', (clock.nowMs() - began) / 1000, labels)
    if (missed > 0) metrics.add('settleMissed', missed, { consumer })
    this.#tally.missed(missed)
    this.#world.reach('batch.settled')
  }

  /** Answers with what is durable and may be told. */
  #count(decided: readonly Decided[]): Delivery[] {
    const { outcomes, conflicts } = this.#options.count(decided)
    this.#tally.decided(outcomes, conflicts)
    const durable: Delivery[] = []
    for (const { received, decision } of decided)
      if (decision.outcome !== 'retry' || this.#options.retriesDurable) durable.push(received.delivery)
    return durable
  }
}
