import type { Received } from '../../message/received.ts'
import type { WorkLease } from '../../ports/held-work.ts'
import type { Delivery } from '../../ports/source.ts'
import type { ConsumerContext } from '../consumer-context.ts'
import type { SuspectTry } from '../crash-suspects/suspect-runner.ts'
import type { Decision, Fact } from './outcome.ts'

/** Pauses of one batch, with answers of the store in between, after which its messages are suspected. */
const pausesMax = 5

/** One attempt to commit messages in one transaction: a whole batch, or half of a batch that was split. */
export interface BatchAttempt<M = unknown, Tx = unknown> {
  readonly context: ConsumerContext<M, Tx>
  readonly batch: readonly Received<M>[]
  /** Facts from rounds that were rolled back. The handlers of these messages do not run again. */
  readonly known: Map<Received, Fact>
  /** Starts at 1; a rollback with a known cause starts the next round. */
  readonly round: number
  /**
   * Set if a process may have crashed on these messages; nothing else is then in a transaction. Else null.
   */
  readonly suspect: SuspectTry | null
  readonly history: BatchHistory
  /**
   * For halves: lanes that an earlier half left to be retried, with the delay. Null for a batch that was not
   * split.
   */
  readonly stuckLanes: Map<string, number> | null
}

/** What earlier attempts of a batch left behind; its halves share it. */
export interface BatchHistory {
  /** A COMMIT may have been sent, and its answer was lost. */
  mayHaveCommitted: boolean
  /** The positions that attempts wrote, and for which deliveries. */
  readonly written: {
    readonly partition: string
    readonly next: string
    readonly done: readonly Delivery[]
  }[]
  pauses: number
  /** How often the store's position was not the expected one. */
  moves: number
}

export interface Decided<M = unknown> {
  readonly received: Received<M>
  readonly decision: Decision
  /** For a stored message: the lease of the worker in this process. */
  readonly lease?: WorkLease
  /** For a stored message: another message holds its business key. */
  readonly keyless?: boolean
  /** A copy for the dead-letter destination was written with its row. */
  readonly copied?: boolean
}

export function newHistory(): BatchHistory {
  return { mayHaveCommitted: false, written: [], pauses: 0, moves: 0 }
}

/**
 * The first round of these messages. A suspect whose budget is used up is known to have crashed its process.
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

/** The left half runs before the right one, so that order is preserved. */
export function halves<M, Tx>(attempt: BatchAttempt<M, Tx>): readonly BatchAttempt<M, Tx>[] {
  const { batch, stuckLanes } = attempt
  const middle = Math.ceil(batch.length / 2)
  const half = { ...attempt, stuckLanes: stuckLanes ?? new Map<string, number>() }
  return [firstRound(half, batch.slice(0, middle)), firstRound(half, batch.slice(middle))]
}

/**
 * True if the batch failed repeatedly although the store answered in between. One of its messages is then the
 * cause, and the batch is searched for it instead of waiting longer.
 */
export function blamesMessages<M, Tx>({ batch, known, history }: BatchAttempt<M, Tx>): boolean {
  return history.pauses >= pausesMax && batch.some(received => received.readable && !known.has(received))
}

/** Unordered messages share a lane only with the same id: a repeat must not overtake the first one. */
export function laneOf(received: Received): string {
  return received.lane ?? `id:${received.id}`
}
