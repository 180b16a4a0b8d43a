import type { Received } from '../../message/received.ts'
import type { WorkLease } from '../../ports/held-work.ts'
import type { Delivery } from '../../ports/source.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import type { SuspectTry } from '../crash-suspects/suspect-runner.ts'
import type { Decision, Fact } from './outcome.ts'

/**
 * Pauses of one batch, the store answering in between, after which the cause is looked for inside the batch.
 */
const pausesMax = 5

/** One try to commit messages in one transaction: a whole batch, or a half of one that was split. */
export interface BatchAttempt<M = unknown, Tx = unknown> {
  readonly context: ConsumerContext<M, Tx>
  readonly batch: readonly Received<M>[]
  /** Facts from rounds that were rolled back: the handlers of these messages do not run again. */
  readonly known: Map<Received, Fact>
  /** The first is 1; a rollback with a known cause begins the next. */
  readonly round: number
  /**
   * A process may have crashed over the messages of the batch, and nothing else is in a transaction. Null for
   * all others.
   */
  readonly suspect: SuspectTry | null
  readonly history: BatchHistory
  /**
   * Of halves: lanes that an earlier half left to be retried, with the delay. Null for a batch that was not
   * split.
   */
  readonly stuckLanes: Map<string, number> | null
}

/** What earlier tries of a batch left behind; its halves share it. */
export interface BatchHistory {
  /** A COMMIT was sent and its answer lost. */
  mayHaveCommitted: boolean
  /** The positions that tries wrote, and for which deliveries. */
  readonly written: {
    readonly partition: string
    readonly next: string
    readonly done: readonly Delivery[]
  }[]
  pauses: number
  /** How often the store's position was not where we thought. */
  moves: number
}

export interface Decided<M = unknown> {
  readonly received: Received<M>
  readonly decision: Decision
  /** Of what was stored: the claim of our own worker. */
  readonly claim?: WorkLease
  /** Of what was stored: another message holds its business key. */
  readonly keyless?: boolean
}

export function newHistory(): BatchHistory {
  return { mayHaveCommitted: false, written: [], pauses: 0, moves: 0 }
}

/**
 * The first round over these messages. A suspect that used up its budget is known to have crashed its
 * process.
 */
export function firstRound<M, Tx>(
  of: Pick<BatchAttempt<M, Tx>, 'context' | 'suspect' | 'history' | 'stuckLanes'>,
  batch: readonly Received<M>[],
): BatchAttempt<M, Tx> {
  const { context, suspect, history, stuckLanes } = of
  const known = new Map<Received, Fact>()
  if (suspect?.killed) known.set(batch[0]!, { kind: 'killed', ...suspect.killed })
  return { context, batch, known, round: 1, suspect, history, stuckLanes }
}

/** Left before right, so that order holds. */
export function halves<M, Tx>(attempt: BatchAttempt<M, Tx>): readonly BatchAttempt<M, Tx>[] {
  const { batch, stuckLanes } = attempt
  const middle = Math.ceil(batch.length / 2)
  const half = { ...attempt, stuckLanes: stuckLanes ?? new Map<string, number>() }
  return [firstRound(half, batch.slice(0, middle)), firstRound(half, batch.slice(middle))]
}

/**
 * The batch failed again and again although the store answered in between: a message in it is the cause, so
 * it is searched for instead of waiting for a better time.
 */
export function blamesMessages<M, Tx>({ batch, known, history }: BatchAttempt<M, Tx>): boolean {
  return history.pauses >= pausesMax && batch.some(received => received.readable && !known.has(received))
}

/** Unordered messages share only their id: a repeat must not overtake its first. */
export function laneOf(received: Received): string {
  return received.lane ?? `id:${received.id}`
}
