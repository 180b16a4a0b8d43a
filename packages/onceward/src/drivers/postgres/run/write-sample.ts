import type { PartitionLag } from '../../../ports/source.ts'
import type { SqlPool } from '../pool.ts'
import { lagIsKnownFor } from './read-flow.ts'

/** What one process did since its last sample. */
export interface FlowCounts {
  readonly applied: number
  readonly duplicates: number
  readonly setAside: number
  readonly failed: number
}

/** Rows are counted this far, so that a sample stays short. */
const pendingMax = 10_000

/** Partitions or queues of all live runs; two processes that read one queue both report it. */
const waitingOf = (consumerId: string, except: string) => `
  select l.key as partition, l.value::bigint as behind from onceward.run r, jsonb_each_text(r.lag) l
  where r.consumer_id = ${consumerId} and r.id <> ${except} and r.ended_at is null and l.value is not null
    and r.lag_at > clock_timestamp() - interval '${lagIsKnownFor}'`

/**
 * One statement: the sample of this minute, and what waits at the source of this run. It need not survive a
 * crash of the server, so it does not wait for the disk.
 */
const write = `
  with unhurried as materialized (select set_config('synchronous_commit', 'off', true)),
  run as (
    update onceward.run set lag = $7::jsonb, lag_at = clock_timestamp() from unhurried where id = $2),
  waiting as (
    select max(behind) as behind from (
      select l.key as partition, l.value::bigint as behind from jsonb_each_text($7::jsonb) l
      where l.value is not null
      union all ${waitingOf('$1', '$2')}) w group by partition)
  insert into onceward.sample as s (consumer_id, slot, minute, applied, duplicates, set_aside, failed, lag, pending)
  select $1, (extract(epoch from now.minute) / 60)::bigint % 64, now.minute, $3, $4, $5, $6,
    (select sum(behind) from waiting),
    (select count(*) from (select from onceward.held h where h.consumer_id = $1 and h.due_at is not null
      limit ${pendingMax}) due)
  from (select date_trunc('minute', clock_timestamp()) as minute) now
  on conflict (consumer_id, slot) do update set minute = excluded.minute, lag = excluded.lag,
    pending = excluded.pending,
    applied = excluded.applied + case when s.minute = excluded.minute then s.applied else 0 end,
    duplicates = excluded.duplicates + case when s.minute = excluded.minute then s.duplicates else 0 end,
    set_aside = excluded.set_aside + case when s.minute = excluded.minute then s.set_aside else 0 end,
    failed = excluded.failed + case when s.minute = excluded.minute then s.failed else 0 end`

export async function writeSample(
  pool: SqlPool,
  { consumerId, runId }: { readonly consumerId: number; readonly runId: number },
  { applied, duplicates, setAside, failed }: FlowCounts,
  lag: readonly PartitionLag[],
): Promise<void> {
  const behind = Object.fromEntries(lag.map(({ partition, behind }) => [partition, behind]))
  const values = [consumerId, runId, applied, duplicates, setAside, failed, JSON.stringify(behind)]
  await pool.query(write, values)
}
