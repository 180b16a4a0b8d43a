import type { Delivery, Position, Progress } from '../contracts/source.ts'
import type { StoreSession } from '../contracts/store.ts'
import { OncewardError } from '../errors.ts'
import type { Received } from '../message/received.ts'
import type { Decided, Spine } from './process-batch.ts'

/** What the spine needs of a log: its fence, and whether an earlier try may have committed unseen. */
export interface LogSide {
  progressWith(batch: readonly Delivery[], done: readonly Delivery[]): readonly Progress[]
  readonly mayHaveCommitted: boolean
}

export type StoredPositions = ReadonlyMap<string, Position>

/**
 * The last statement of a log's batch: every partition in it is still ours, and those that move stand where we think. Without it a process
 * that was frozen and lost its partitions could commit beside their new owner.
 */
export async function passFence<M, Tx>(
  batch: readonly Received<M>[],
  decided: readonly Decided<M>[],
  stored: StoredPositions | null,
  session: StoreSession<Tx>,
  { log }: Spine<M, Tx>,
): Promise<void> {
  const done = decided.filter(({ decision }) => decision.outcome !== 'retry')
  const progress = log!.progressWith(
    batch.map(received => received.delivery),
    done.map(({ received }) => received.delivery),
  )
  await session.advance(stored === null ? progress : progress.map(one => fromStored(one, stored)))
}

function fromStored(progress: Progress, stored: StoredPositions): Progress {
  const position = stored.get(progress.partition)
  if (position === undefined || progress.from === null) return progress
  return position.next === progress.next
    ? { ...progress, from: null, next: null }
    : { ...progress, from: position.next }
}

/**
 * With no marker beside it, only the position tells what a commit left whose answer was lost: records up to it are applied. Asked only
 * then; otherwise the fence proves that the position is the one we know.
 */
export async function appliedByPosition<M, Tx>(
  batch: readonly Received<M>[],
  session: StoreSession<Tx>,
  { log }: Spine<M, Tx>,
): Promise<{ readonly stored: StoredPositions | null; readonly applied: ReadonlySet<Received<M>> }> {
  if (!log!.mayHaveCommitted) return { stored: null, applied: new Set() }
  const lanes = Map.groupBy(batch, received => received.delivery.partition)
  const stored = await session.positions([...lanes.keys()])
  const applied = new Set<Received<M>>()
  for (const [partition, records] of lanes) {
    const last = records.findLastIndex(({ delivery }) => delivery.place!.next === stored.get(partition)?.next)
    for (const received of records.slice(0, last + 1)) applied.add(received)
  }
  return { stored, applied }
}

/** The partitions a fence named, or null when the error is none of its. */
export function fencedPartitions(error: unknown, code: 'ownership_lost' | 'position_moved'): string[] | null {
  if (!(error instanceof OncewardError) || error.code !== code) return null
  return error.details.partitions as string[]
}
