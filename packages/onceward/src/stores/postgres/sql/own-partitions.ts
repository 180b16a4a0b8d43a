import type { Loss, Ownership, Position } from '../../../contracts/source.ts'
import type { Enrolment } from '../../../contracts/store.ts'
import { OncewardError } from '../../../errors.ts'
import type { SqlClient } from '../pool.ts'

/** One statement, one transaction: it waits for rows an earlier owner's commit holds, and from then on that owner's epoch is stale. */
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
     select t.*, b.run_id as last_run, g.to_incarnation, g.to_next from taken t left join before b using (partition)
     left join lateral (
       select to_incarnation, to_next from onceward.gap
       where consumer_id = $1 and partition = t.partition and accepted_at is not null and resumed_at is null
       order by id desc limit 1
     ) g on true`,
    [consumerId, runId, partitions],
  )
  return rows.map(row => ({
    partition: row.partition as string,
    epoch: row.epoch as number,
    lastRun: row.last_run as number | null,
    stored: position(row.incarnation, row.next),
    resumeAt: position(row.to_incarnation, row.to_next),
  }))
}

/** Also closes an accepted gap: reading has gone on past it. */
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
       update onceward.gap set resumed_at = clock_timestamp()
       where consumer_id = $1 and partition = (select partition from begun)
         and accepted_at is not null and resumed_at is null
     )
     select from begun`,
    [consumerId, partition, epoch, incarnation, next, runId],
  )
  if (rowCount === 0) {
    throw new OncewardError('ownership_lost', `Another process reads ${partition}. Nothing was changed.`, {
      details: { partitions: [partition] },
    })
  }
}

export async function declareLoss(
  pool: SqlClient,
  { consumerId, runId }: Enrolment,
  { partition, from, to, records, reason }: Loss,
): Promise<void> {
  await pool.query(
    `insert into onceward.gap (consumer_id, partition, from_incarnation, from_next, to_incarnation, to_next, records, reason, declared_by)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
     on conflict (consumer_id, partition, from_incarnation, from_next) where resumed_at is null
     do update set to_incarnation = excluded.to_incarnation, to_next = excluded.to_next, records = excluded.records,
       reason = excluded.reason, declared_at = clock_timestamp()
     where onceward.gap.accepted_at is null`,
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
