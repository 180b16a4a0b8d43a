import { OncewardError } from '../../errors.ts'
import type { Delivery, Position, Progress } from '../../ports/source.ts'
import type { StoreSession } from '../../ports/store-session.ts'
import type { BatchAttempt, Decided } from './batch-attempt.ts'

/** The stored positions, and the deliveries that an earlier, committed attempt covered. */
export interface StoredPositions {
  readonly positions: ReadonlyMap<string, Position>
  readonly applied: ReadonlySet<Delivery>
}

/**
 * The last statement of a log's batch. It proves that every partition in it is still ours, and that the moved
 * positions were the expected ones. Without it, a frozen process that lost its partitions could commit beside
 * their new owner.
 */
export async function passFence<M, Tx>(
  { batch, context, history }: BatchAttempt<M, Tx>,
  decided: readonly Decided<M>[],
  storedPositions: StoredPositions | null,
  session: StoreSession<Tx>,
): Promise<void> {
  const { settleTiming, subscription, env } = context
  if (settleTiming !== 'commit') return
  const done: Delivery[] = []
  for (const { decision, received } of decided) {
    if (decision.outcome !== 'retry') done.push(received.delivery)
  }
  const proposed = subscription.log!.progressWith(
    batch.map(received => received.delivery),
    done,
  )
  const progress =
    storedPositions === null ? proposed : proposed.map(one => onward(one, storedPositions, done))
  for (const { partition, from, next } of progress) {
    if (from !== null && next !== null) history.written.push({ partition, next, done })
  }
  await session.log!.advance(progress)
  env.reach('batch.fenced')
}

/**
 * Moves from the stored position, and never back: part of a batch that committed as a whole moves nothing.
 */
function onward(
  progress: Progress,
  { positions, applied }: StoredPositions,
  done: readonly Delivery[],
): Progress {
  const position = positions.get(progress.partition)
  if (position === undefined || progress.from === null) return progress
  const isNew = done.some(one => one.partition === progress.partition && !applied.has(one))
  return isNew && position.next !== progress.next
    ? { ...progress, from: position.next }
    : { ...progress, from: null, next: null }
}

/**
 * Without markers, only the position shows the result of a COMMIT whose answer was lost. If it is the
 * position an attempt wrote, that attempt's decisions are durable. Read only in this case; otherwise the
 * fence proves the expected position. The end of a record proves nothing: the position also moves past gaps
 * in the log and past messages that were set aside.
 */
export async function appliedByPosition<M, Tx>(
  { batch, history }: BatchAttempt<M, Tx>,
  session: StoreSession<Tx>,
): Promise<StoredPositions | null> {
  const { mayHaveCommitted, written } = history
  if (!mayHaveCommitted) return null
  const lanes = Map.groupBy(batch, received => received.delivery.partition)
  const positions = await session.log!.positions([...lanes.keys()])
  const applied = new Set<Delivery>()
  for (const [partition, records] of lanes) {
    const next = positions.get(partition)?.next
    const took = new Set(written.find(one => one.partition === partition && one.next === next)?.done)
    for (const { delivery } of records) if (took.has(delivery)) applied.add(delivery)
  }
  return { positions, applied }
}

/** The partitions that a fence named, or null if the error is not a fence's. */
export function fencedPartitions(error: unknown, code: 'ownership_lost' | 'position_moved'): string[] | null {
  if (!(error instanceof OncewardError) || error.code !== code) return null
  return error.details.partitions as string[]
}
