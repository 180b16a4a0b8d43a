import type { Consumer } from '../../contract/define-consumer.ts'
import type { Mode } from '../../contract/handler.ts'
import type { Subscription } from '../../contracts/source.ts'
import type { Enrolment, Store } from '../../contracts/store.ts'
import type { Received } from '../../message/received.ts'
import { messagingSystem } from '../../observe/messaging-system.ts'
import type { Surroundings } from '../../surroundings.ts'
import type { StoreWatch } from '../consumer/store-watch.ts'
import type { Tally } from '../consumer/tally.ts'
import type { SuspectTry } from '../crash-suspects/suspect-runner.ts'
import type { Breaker } from '../retry/breaker.ts'
import { decisionCounter } from '../settle/count-decided.ts'
import { logDecided } from '../settle/log-decided.ts'
import { type Settlement, Settling, type TellingTime } from '../settle/settlement.ts'
import type { InlineCall } from './buffer-effects.ts'
import type { Decided, Stage } from './commit-batch.ts'
import { type HorizonCheck, HorizonGuard } from './horizon-guard.ts'
import type { HandOver } from './local-handoff.ts'
import { type Desk, decideBatch } from './run-until-committed.ts'
import { Care } from './savepoint-policy.ts'
import type { Turns } from './shared-lock.ts'

export interface BatchLineOptions<M, Tx> {
  readonly consumer: Consumer<M, Tx>
  readonly store: Store<Tx>
  readonly enrolment: Enrolment
  readonly subscription: Subscription
  /** The source is a log. */
  readonly positions: boolean
  readonly mode: Mode
  readonly suppresses: boolean
  readonly stage: Stage
  readonly world: Surroundings
  readonly watch: StoreWatch<Tx>
  readonly tally: Tally
  readonly signal: AbortSignal
  readonly breaker: Breaker
  readonly turns: Turns
  /** Called after every commit with what it decided. */
  readonly onCommitted: (decided: readonly Decided<M>[]) => void
  /** False while draining: a store that is away is then not waited for. */
  readonly waits: () => boolean
  readonly callInline?: InlineCall
  readonly handOver?: HandOver
  readonly horizon?: HorizonCheck
}

/** Takes batches from their start to the telling of the source, several at once. */
export class BatchLine<M, Tx> {
  readonly #options: BatchLineOptions<M, Tx>
  readonly #when: TellingTime
  readonly #settling: Settling
  readonly #care = new Care()
  readonly #horizon: HorizonCheck | null
  #paused = 0

  constructor(options: BatchLineOptions<M, Tx>) {
    const { consumer, positions, stage, world, tally } = options
    this.#options = options
    this.#when = consumer.settle.when === 'before effect' ? 'first' : positions ? 'log' : 'queue'
    const remembers = ['live', 'replay'].includes(options.mode) && consumer.dedup === 'marker'
    this.#horizon = options.horizon ?? (remembers ? new HorizonGuard(consumer as never, world) : null)
    const count = decisionCounter(consumer, world.metrics, options.mode !== 'live')
    this.#settling = new Settling(consumer.name, world, tally, {
      retriesDurable: stage === 'work',
      count: decided => {
        logDecided(consumer.name, decided, world.log)
        return count(decided as readonly Decided<M>[])
      },
      system: messagingSystem(consumer.source.kind),
    })
  }

  /** Nothing is on its way. */
  get idle(): boolean {
    return this.#settling.idle
  }

  underWay(): Iterable<Received> {
    return this.#settling.underWay()
  }

  /** Batches waiting for a lock or for the store: nobody waits for them. */
  get paused(): number {
    return this.#paused
  }

  /** Told first, a delivery is ours alone, whatever the broker says later. */
  isLive({ delivery }: Received): boolean {
    return this.#when === 'first' || this.#options.subscription.isLive(delivery)
  }

  /** Calls `onDecided` when the batch is decided, and resolves when the source is told. */
  async run(
    batch: readonly Received<M>[],
    onDecided: (decided: readonly Decided<M>[]) => void,
    suspect?: SuspectTry,
  ): Promise<void> {
    const settlement = this.#settling.begin(batch, this.#when, this.#options.subscription)
    try {
      await settlement.before()
      const began = this.#options.world.clock.nowMs()
      const decided = await this.#traced(batch, () => decideBatch(batch, this.#deskFor(settlement, suspect)))
      this.#took(began)
      onDecided(decided)
      await settlement.after(decided)
    } finally {
      settlement.end()
    }
  }

  /** One span for the batch: linked to where its messages came from, or, of a single one, part of that trace. */
  #traced(
    batch: readonly Received<M>[],
    decide: () => Promise<readonly Decided<M>[]>,
  ): Promise<readonly Decided<M>[]> {
    const { world, consumer, stage, mode } = this.#options
    const destination = batch[0]!.delivery.origin
    const attributes = {
      'messaging.system': messagingSystem(consumer.source.kind),
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.name': destination,
      'messaging.consumer.group.name': consumer.name,
      'messaging.batch.message_count': batch.length,
      'onceward.stage': stage,
      'onceward.mode': mode,
    }
    const headersOf = (index: number) => batch[index]!.delivery.headers
    return world.traces.span(
      {
        name: `process ${destination}`,
        kind: 'process',
        attributes,
        about: { count: batch.length, headersOf },
      },
      async span => {
        const decided = await decide()
        if (span.on) span.set(outcomeAttributes(decided))
        return decided
      },
    )
  }

  #took(beganMs: number): void {
    const { world, consumer, stage } = this.#options
    const labels = {
      consumer: consumer.name,
      stage,
      'messaging.system': messagingSystem(consumer.source.kind),
    }
    world.metrics.record('processDuration', (world.clock.nowMs() - beganMs) / 1000, labels)
  }

  /** Resolves when no batch with such a message is in a transaction. */
  without(matches: (received: Received) => boolean): Promise<void> {
    return this.#settling.without(matches)
  }

  #deskFor(settlement: Settlement, suspect: SuspectTry | undefined): Desk<M, Tx> {
    const {
      consumer,
      store,
      enrolment,
      subscription,
      mode,
      suppresses,
      stage,
      world,
      watch,
      signal,
      waits,
      breaker,
      handOver,
    } = this.#options
    return {
      watch,
      subscription,
      waits,
      isLive: received => this.isLive(received),
      onPause: () => {
        settlement.pass()
        this.#paused++
        return () => this.#paused--
      },
      spine: (suspicious, tries) => ({
        consumer,
        store,
        enrolment,
        mode,
        suppresses,
        stage,
        world,
        signal,
        turns: this.#options.turns,
        care: this.#care,
        ...(this.#options.callInline && { callInline: this.#options.callInline }),
        ...(this.#horizon && { horizon: this.#horizon }),
        suspicious,
        ...(suspect && { suspect }),
        watchClaims:
          stage === 'work'
            ? (batch, onLost) =>
                subscription.watchClaims!(
                  batch.map(one => one.delivery),
                  onLost,
                )
            : null,
        log:
          this.#when === 'log'
            ? { tries, progressWith: (batch, done) => subscription.progressWith!(batch, done) }
            : null,
        breaker,
        ...(handOver && { handOver }),
        onCommitted: decided => {
          handOver?.take(decided)
          this.#options.onCommitted(decided)
          settlement.committed(decided)
        },
      }),
    }
  }
}

function outcomeAttributes(decided: readonly Decided[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { decision } of decided) {
    const name = `onceward.outcome.${decision.outcome.replaceAll(' ', '_')}`
    counts[name] = (counts[name] ?? 0) + 1
  }
  return counts
}
