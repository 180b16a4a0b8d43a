import { OncewardError } from '../../../errors.ts'
import type { Enrolment } from '../../../ports/enrolment.ts'
import type { Position, Progress } from '../../../ports/source.ts'
import type { SqlClient } from '../pool.ts'

/**
 * The fence of a batch. It is the last statement, so the rows are locked only during the commit. If another
 * owner took over before it, the epoch was raised and the fence matches nothing; an owner that takes over now
 * waits for the commit. All rows are locked in one order, with either lock: batches that locked held and
 * moved rows in two passes deadlocked with an owner that took both.
 */
export async function advancePartitions(
  client: SqlClient,
  { consumerId, runId }: Enrolment,
  progress: readonly Progress[],
): Promise<void> {
  const sorted = progress.toSorted((a, b) => (a.partition < b.partition ? -1 : 1))
  const still = sorted.filter(({ next }) => next === null)
  const moving = sorted.filter(({ next }) => next !== null)
  const mixed = still.length > 0 && moving.length > 0
  const held = mixed
    ? await lockRows(client, consumerId, sorted)
    : still.length > 0
      ? await holdRows(client, consumerId, still)
      : []
  const moved = moving.length > 0 ? await moveRows(client, consumerId, runId, moving) : []
  const proven = new Set([...held, ...moved])
  const missing = sorted.filter(({ partition }) => !proven.has(partition))
  if (missing.length > 0) await explain(client, consumerId, missing)
}

/**
 * Locks each row as needed, in the order of the partitions. Returns the partitions that this process owns and
 * that do not move.
 */
async function lockRows(
  client: SqlClient,
  consumerId: number,
  sorted: readonly Progress[],
): Promise<string[]> {
  const { rows } = await client.query(
    `select m.partition, held.epoch from (
       select * from unnest($2::text[], $3::boolean[]) as m (partition, moves) order by m.partition collate "C"
     ) m
     left join lateral (
       select c.epoch from onceward.checkpoint c
       where c.consumer_id = $1 and c.partition = m.partition and not m.moves for share
     ) held on true
     left join lateral (
       select from onceward.checkpoint c
       where c.consumer_id = $1 and c.partition = m.partition and m.moves for no key update
     ) moving on true`,
    [consumerId, sorted.map(one => one.partition), sorted.map(one => one.next !== null)],
  )
  const epochs = new Map(rows.map(row => [row.partition as string, row.epoch as number | null]))
  const ours = sorted.filter(one => one.next === null && epochs.get(one.partition) === one.epoch)
  return ours.map(one => one.partition)
}

async function holdRows(
  client: SqlClient,
  consumerId: number,
  still: readonly Progress[],
): Promise<string[]> {
  const { rows } = await client.query(
    `select c.partition from onceward.checkpoint c
     join unnest($2::text[], $3::integer[]) as mine (partition, epoch) using (partition)
     where c.consumer_id = $1 and c.epoch = mine.epoch
     order by c.partition for share of c`,
    [consumerId, still.map(one => one.partition), still.map(one => one.epoch)],
  )
  return rows.map(row => row.partition as string)
}

async function moveRows(
  client: SqlClient,
  consumerId: number,
  runId: number,
  moving: readonly Progress[],
): Promise<string[]> {
  if (moving.length === 1) return moveRow(client, consumerId, runId, moving[0]!)
  const { rows } = await client.query(
    `with mine as (
       select m.* from onceward.checkpoint c
       join unnest($3::text[], $4::integer[], $5::text[], $6::text[], $7::text[])
         as m (partition, epoch, incarnation, from_next, next) using (partition)
       where c.consumer_id = $1 and c.epoch = m.epoch and (m.from_next is null or c.next = m.from_next)
       order by c.partition for no key update of c
     )
     update onceward.checkpoint c
     set next = mine.next, incarnation = mine.incarnation, run_id = $2, at = clock_timestamp()
     from mine where c.consumer_id = $1 and c.partition = mine.partition and c.epoch = mine.epoch
     returning c.partition`,
    [
      consumerId,
      runId,
      moving.map(one => one.partition),
      moving.map(one => one.epoch),
      moving.map(one => one.incarnation),
      moving.map(one => one.from),
      moving.map(one => one.next),
    ],
  )
  return rows.map(row => row.partition as string)
}

/** A single row needs no order of locking: 0.25 ms instead of 0.5. */
async function moveRow(
  client: SqlClient,
  consumerId: number,
  runId: number,
  { partition, epoch, incarnation, from, next }: Progress,
): Promise<string[]> {
  const { rowCount } = await client.query(
    `update onceward.checkpoint
     set next = $7, incarnation = $5, run_id = $2, at = clock_timestamp()
     where consumer_id = $1 and partition = $3 and epoch = $4 and ($6::text is null or next = $6)`,
    [consumerId, runId, partition, epoch, incarnation, from, next],
  )
  return rowCount === 1 ? [partition] : []
}

/**
 * A fence that is sent with COMMIT: a statement that fails if it moves no row, so that the server turns
 * COMMIT into ROLLBACK.
 */
export interface CommitFence {
  readonly text: string
  readonly values: readonly unknown[]
  /** Reports why it failed, after the transaction has ended. */
  explain(client: SqlClient): Promise<never>
}

/**
 * Null for batches that move some partitions and hold others, or move several: these need more than one
 * statement, or ordered locks. It saves a round trip with rows locked. It also proves that the transaction is
 * the one of the batch: the setting is local to it.
 */
export function commitFence({ consumerId }: Enrolment, progress: readonly Progress[]): CommitFence | null {
  const stays = progress.every(({ next }) => next === null)
  if (!stays && progress.length > 1) return null
  const statement = stays ? holdAll(consumerId, progress) : moveOne(consumerId, progress[0]!)
  return { ...statement, explain: client => explain(client, consumerId, progress) }
}

function holdAll(consumerId: number, still: readonly Progress[]) {
  return {
    text: `with held as materialized (
       select from onceward.checkpoint c
       join unnest($2::text[], $3::integer[]) as mine (partition, epoch) using (partition)
       where c.consumer_id = $1 and c.epoch = mine.epoch
       order by c.partition for share of c)
     select current_setting('onceward.run')::integer / (count(*) = cardinality($2))::integer from held`,
    values: [consumerId, still.map(one => one.partition), still.map(one => one.epoch)],
  }
}

function moveOne(consumerId: number, { partition, epoch, incarnation, from, next }: Progress) {
  return {
    text: `with moved as (
       update onceward.checkpoint
       set next = $6, incarnation = $4, run_id = current_setting('onceward.run')::integer, at = clock_timestamp()
       where consumer_id = $1 and partition = $2 and epoch = $3 and ($5::text is null or next = $5)
       returning 1)
     select 1 / count(*) from moved`,
    values: [consumerId, partition, epoch, incarnation, from, next],
  }
}

/**
 * Same epoch, other position: an unconfirmed commit of this process took effect. Other epoch: another process
 * took over.
 */
async function explain(client: SqlClient, consumerId: number, missing: readonly Progress[]): Promise<never> {
  const { rows } = await client.query(
    'select partition, epoch from onceward.checkpoint where consumer_id = $1 and partition = any($2::text[])',
    [consumerId, missing.map(one => one.partition)],
  )
  const epochs = new Map(rows.map(row => [row.partition as string, row.epoch as number]))
  const lost = missing.filter(({ partition, epoch }) => epochs.get(partition) !== epoch)
  const taken = lost.length > 0
  const partitions = (taken ? lost : missing).map(one => one.partition)
  throw new OncewardError(
    taken ? 'ownership_lost' : 'position_moved',
    `${taken ? 'Another process reads' : 'The store has moved on at'} ${partitions.join(', ')}. Nothing was committed.`,
    { details: { partitions } },
  )
}

export async function readPositions(
  client: SqlClient,
  { consumerId }: Enrolment,
  partitions: readonly string[],
): Promise<ReadonlyMap<string, Position>> {
  const { rows } = await client.query(
    `select partition, incarnation, next from onceward.checkpoint
     where consumer_id = $1 and partition = any($2::text[]) and next is not null`,
    [consumerId, partitions],
  )
  return new Map(rows.map(row => [row.partition, { incarnation: row.incarnation, next: row.next }]))
}
