import { OncewardError } from '../../../errors.ts'
import type { Enrolment } from '../../../ports/enrolment.ts'
import type { Loss, OpenLoss, Ownership, Position } from '../../../ports/source.ts'
import type { SqlClient } from '../pool.ts'
import { roleSettings } from '../role-settings.ts'

/**
 * One statement, one transaction: it waits for rows that the commit of an earlier owner holds, and from then
 * on the epoch of that owner is stale.
 */
export async function takePartitions(
  pool: SqlClient,
  { consumerId, runId }: Enrolment,
  partitions: readonly string[],
): Promise<readonly Ownership[]> {
  const { rows } = await pool.query(
    `with before as materialized (
       select partition, run_id from onceward.checkpoint where consumer_id = $1 and partition = any($3::text[])
     ), taken as (
       insert into onceward.checkpoint (consumer_id, partition, epoch, run_id)
       select $1, partition, 1, $2 from unnest($3::text[]) as p (partition) order by partition collate "C"
       on conflict (consumer_id, partition)
         do update set epoch = onceward.checkpoint.epoch + 1, run_id = excluded.run_id, at = clock_timestamp()
       returning partition, epoch, incarnation, next
     )
     select t.*, b.run_id as last_run, g.to_incarnation, g.to_position, o.from_incarnation, o.from_position, o.open_incarnation,
       o.open_next, o.accepted, o.declared_ms, o.open_reason, ${roleSettings}
     from taken t left join before b using (partition)
     left join lateral (
       select to_incarnation, to_position from onceward.loss
       where consumer_id = $1 and partition = t.partition and accepted_at is not null and resumed_at is null
       order by id desc limit 1
     ) g on true
     left join lateral (
       select from_incarnation, from_position, to_incarnation as open_incarnation, to_position as open_next, reason as open_reason,
         accepted_at is not null as accepted, extract(epoch from first_declared_at)::float8 * 1000 as declared_ms
       from onceward.loss where consumer_id = $1 and partition = t.partition and resumed_at is null
       order by accepted_at is not null desc, id desc limit 1
     ) o on true`,
    [consumerId, runId, partitions],
  )
  return rows.map(row => ({
    partition: row.partition as string,
    epoch: row.epoch as number,
    lastRun: row.last_run as number | null,
    stored: position(row.incarnation, row.next),
    resumeAt: position(row.to_incarnation, row.to_position),
    ...(row.from_position !== null && { openLoss: openLoss(row) }),
  }))
}

function openLoss(row: {
  from_incarnation: string
  from_position: string
  open_incarnation: string | null
  open_next: string | null
  accepted: boolean
  declared_ms: number
  open_reason: string
}): OpenLoss {
  return {
    from: { incarnation: row.from_incarnation, next: row.from_position },
    to: position(row.open_incarnation, row.open_next),
    declaredMs: row.declared_ms,
    accepted: row.accepted,
    reason: row.open_reason,
  }
}

/** Also closes an accepted loss: the consumer has read past it. */
export async function beginPartition(
  pool: SqlClient,
  { consumerId, runId }: Enrolment,
  partition: string,
  epoch: number,
  { incarnation, next }: Position,
): Promise<void> {
  const { rowCount } = await pool.query(
    `with begun as (
       update onceward.checkpoint set incarnation = $4, next = $5, run_id = $6, at = clock_timestamp()
       where consumer_id = $1 and partition = $2 and epoch = $3 returning partition
     ), closed as (
       update onceward.loss set resumed_at = clock_timestamp()
       where consumer_id = $1 and partition = (select partition from begun)
         and accepted_at is not null and resumed_at is null
     )
     select from begun`,
    [consumerId, partition, epoch, incarnation, next, runId],
  )
  if (rowCount === 0) throw ownedByOther(partition)
}

/** The row stays, as withdrawn, with its reason: operators saw the loss, and must see that there was none. */
export async function withdrawLoss(
  pool: SqlClient,
  { consumerId }: Enrolment,
  partition: string,
  epoch: number,
  { incarnation, next }: Position,
  reason: string,
): Promise<void> {
  const { rowCount } = await pool.query(
    `with owned as (
       select partition from onceward.checkpoint where consumer_id = $1 and partition = $2 and epoch = $3 for share
     ), closed as (
       update onceward.loss set resumed_at = clock_timestamp(), withdrawn_reason = $6
       where consumer_id = $1 and partition = (select partition from owned)
         and from_incarnation = $4 and from_position = $5 and resumed_at is null
     )
     select from owned`,
    [consumerId, partition, epoch, incarnation, next, reason],
  )
  if (rowCount === 0) throw ownedByOther(partition)
}

function ownedByOther(partition: string): OncewardError {
  return new OncewardError('ownership_lost', `Another process reads ${partition}. Nothing was changed.`, {
    details: { partitions: [partition] },
  })
}

export async function declareLoss(
  pool: SqlClient,
  { consumerId, runId }: Enrolment,
  { partition, from, to, records, reason }: Loss,
): Promise<void> {
  await pool.query(
    `insert into onceward.loss (consumer_id, partition, from_incarnation, from_position, to_incarnation, to_position, records, reason, declared_by_run)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     on conflict (consumer_id, partition, from_incarnation, from_position) where resumed_at is null
     do update set to_incarnation = excluded.to_incarnation, to_position = excluded.to_position, records = excluded.records,
       reason = excluded.reason, declared_at = clock_timestamp()
     where onceward.loss.accepted_at is null`,
    [
      consumerId,
      partition,
      from.incarnation,
      from.next,
      to?.incarnation ?? null,
      to?.next ?? null,
      records,
      reason,
      runId,
    ],
  )
}

function position(incarnation: string | null, next: string | null): Position | null {
  return incarnation === null || next === null ? null : { incarnation, next }
}
