import { OncewardError } from '../../errors.ts'
import type { Delivery, Position, Progress } from '../../ports/source.ts'
import type { StoreSession } from '../../ports/store.ts'
import type { BatchAttempt, Decided } from './batch-attempt.ts'

/** What asking the store told: where it stands, and which deliveries a try that took has covered. */
export interface StoredPositions {
  readonly positions: ReadonlyMap<string, Position>
  readonly applied: ReadonlySet<Delivery>
}

/**
 * The last statement of a log's batch: every partition in it is still ours, and those that move stand where
 * we think. Without it a process that was frozen and lost its partitions could commit beside their new owner.
 */
export async function passFence<M, Tx>(
  { batch, context, history }: BatchAttempt<M, Tx>,
  decided: readonly Decided<M>[],
  standing: StoredPositions | null,
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
  const progress = standing === null ? proposed : proposed.map(one => onward(one, standing, done))
  for (const { partition, from, next } of progress) {
    if (from !== null && next !== null) history.written.push({ partition, next, done })
  }
  await session.log!.advance(progress)
  env.reach('batch.fenced')
}

/** From where the store stands, and never back: part of a batch that took as a whole moves nothing. */
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
 * With no marker beside it, only the position tells what a commit left whose answer was lost: if it is the
 * one a try wrote, what that try decided is durable. Asked only then; otherwise the fence proves that the
 * position is the one we know. (The end of a record is no sign of it: the position goes on past gaps in the
 * log and past what was set aside before.)
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

/** The partitions a fence named, or null when the error is none of its. */
export function fencedPartitions(error: unknown, code: 'ownership_lost' | 'position_moved'): string[] | null {
  if (!(error instanceof OncewardError) || error.code !== code) return null
  return error.details.partitions as string[]
}
