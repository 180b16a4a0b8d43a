import type { Received } from '../../message/received.ts'
import type { StoreWatch } from '../consumer/store-watch.ts'
import type { Tally } from '../consumer/tally.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import type { SuspectTry } from '../crash-suspects/suspect-runner.ts'
import { type Settlement, Settlements } from '../settle/settlement.ts'
import { type BatchAttempt, type Decided, firstRound, laneOf, newHistory } from './batch-attempt.ts'
import { commitBatch } from './commit-batch.ts'
import { decideOutcome, noAttempts } from './decide-outcome.ts'
import { contextsByOrigin } from './held-origin.ts'
import { recoverAttempt, StorePaused } from './recover-attempt.ts'
import { tracedBatch } from './trace-batch.ts'

export interface BatchRunnerOptions<M, Tx> {
  readonly watch: StoreWatch<Tx>
  readonly tally: Tally
  /** Called after every commit with its decisions. */
  readonly onCommitted: (decided: readonly Decided<M>[]) => void
  /** False while draining: the runner then does not wait for an unavailable store. */
  readonly waitsForStore: () => boolean
}

/**
 * Runs batches from their start to the acknowledgement, several at once. A batch is attempted until all of it
 * is committed or belongs to another owner. While the store is unavailable, its deliveries stay unsettled.
 */
export class BatchRunner<M, Tx> {
  readonly #context: ConsumerContext<M, Tx>
  readonly #options: BatchRunnerOptions<M, Tx>
  readonly #settlements: Settlements
  #paused = 0

  constructor(context: ConsumerContext<M, Tx>, options: BatchRunnerOptions<M, Tx>) {
    this.#context = context
    this.#options = options
    this.#settlements = new Settlements(context as never, options.tally)
  }

  /** True while no batch is in progress. */
  get idle(): boolean {
    return this.#settlements.idle
  }

  /** Messages of the batches in progress. */
  inProgress(): Iterable<Received> {
    return this.#settlements.inProgress()
  }

  /** Batches that wait for a lock or for the store: no other batch waits for them. */
  get paused(): number {
    return this.#paused
  }

  /** A delivery that was settled before its effect stays ours, even if the broker connection is lost. */
  isLive({ delivery }: Received): boolean {
    return this.#context.settleTiming === 'first' || this.#context.subscription.isLive(delivery)
  }

  /** Resolves when no batch with such a message is in a transaction. */
  without(matches: (received: Received) => boolean): Promise<void> {
    return this.#settlements.without(matches)
  }

  /** Calls `onDecided` when the batch is decided, and resolves when it is settled. */
  async run(
    batch: readonly Received<M>[],
    onDecided: (decided: readonly Decided<M>[]) => void,
    suspect: SuspectTry | null = null,
  ): Promise<void> {
    const settlement = this.#settlements.begin(batch)
    try {
      await settlement.beforeEffect()
      const decided = await tracedBatch(batch, this.#context, () =>
        this.#untilCommitted(batch, suspect, settlement),
      )
      onDecided(decided)
      await settlement.afterBatch(decided)
    } finally {
      settlement.end()
    }
  }

  /** The only loop over attempts of a batch. */
  async #untilCommitted(
    batch: readonly Received<M>[],
    suspect: SuspectTry | null,
    settlement: Settlement,
  ): Promise<readonly Decided<M>[]> {
    const decided: Decided<M>[] = []
    const history = newHistory()
    const attempts = contextsByOrigin(batch, this.#context).map(([part, context]) =>
      firstRound({ context, suspect, history, stuckLanes: null }, part),
    )
    while (attempts.length > 0) {
      await this.#options.watch.untilAvailable()
      const attempt = this.#stillOurs(attempts.shift()!)
      const { stuck, free } = splitStuck(attempt)
      decided.push(...stuck)
      if (free.batch.length === 0) continue
      try {
        const committed = await commitBatch(free)
        this.#committed(committed, free, settlement)
        decided.push(...committed)
      } catch (error) {
        if (free.context.signal.aborted) throw error
        attempts.unshift(...(await this.#recover(error, free, settlement)))
      }
    }
    return decided
  }

  /**
   * Drops deliveries that the source has withdrawn, also before the first attempt. With order, the messages
   * behind such a delivery must leave with it.
   */
  #stillOurs(attempt: BatchAttempt<M, Tx>): BatchAttempt<M, Tx> {
    if (attempt.batch.every(received => this.isLive(received))) return attempt
    return { ...attempt, batch: attempt.batch.filter(received => this.isLive(received)) }
  }

  async #recover(
    error: unknown,
    attempt: BatchAttempt<M, Tx>,
    settlement: Settlement,
  ): Promise<readonly BatchAttempt<M, Tx>[]> {
    try {
      return await recoverAttempt(error, attempt)
    } catch (pause) {
      if (!(pause instanceof StorePaused)) throw pause
      await this.#pause(pause, attempt, settlement)
      return [firstRound(attempt, attempt.batch)]
    }
  }

  async #pause(pause: StorePaused, { history }: BatchAttempt<M, Tx>, settlement: Settlement): Promise<void> {
    const { watch, waitsForStore } = this.#options
    history.mayHaveCommitted = true
    settlement.letOthersPass()
    this.#paused++
    await watch.pause(pause, history.pauses++).finally(() => this.#paused--)
    if (!waitsForStore() && pause.trouble === 'unavailable') throw pause
  }

  /** The decisions are durable from here on. */
  #committed(decided: readonly Decided<M>[], attempt: BatchAttempt<M, Tx>, settlement: Settlement): void {
    attempt.context.localHandoff?.take(decided)
    this.#options.onCommitted(decided)
    settlement.afterCommit(decided)
    noteStuckLanes(decided, attempt)
    noteRepeats(decided, attempt.context)
  }
}

/** A lane that one half left to be retried does not continue in the next. */
function splitStuck<M, Tx>(
  attempt: BatchAttempt<M, Tx>,
): {
  readonly stuck: readonly Decided<M>[]
  readonly free: BatchAttempt<M, Tx>
} {
  const { batch, stuckLanes, context } = attempt
  if (stuckLanes === null || stuckLanes.size === 0) return { stuck: [], free: attempt }
  const stuck: Decided<M>[] = []
  for (const received of batch) {
    const delayMs = stuckLanes.get(laneOf(received))
    if (delayMs === undefined) continue
    const behind = { kind: 'behind', leader: 'retry', delayMs } as const
    stuck.push({ received, decision: decideOutcome(behind, noAttempts, context.consumer.failure) })
  }
  const free = batch.filter(received => !stuckLanes.has(laneOf(received)))
  return { stuck, free: { ...attempt, batch: free } }
}

function noteStuckLanes<M, Tx>(decided: readonly Decided<M>[], { stuckLanes }: BatchAttempt<M, Tx>): void {
  for (const { received, decision } of decided)
    if (decision.outcome === 'retry') stuckLanes?.set(laneOf(received), decision.retryDelayMs)
}

/** Records deliveries that were recognised by their message id. Other duplicates have their own markers. */
function noteRepeats<M, Tx>(
  decided: readonly Decided<M>[],
  { store, enrolment, mode }: ConsumerContext<M, Tx>,
): void {
  if (store.evidence === undefined || mode !== 'live') return
  const ids: string[] = []
  for (const { received, decision } of decided) {
    const known = decision.outcome === 'duplicate' || decision.outcome === 'already held'
    if (known && decision.status === null && received.id !== null) ids.push(received.id)
  }
  if (ids.length > 0) store.evidence.noteRepeats(enrolment, ids)
}
