import type { PartitionLag } from '../../../ports/source.ts'
import type { SqlClient, SqlPool } from '../pool.ts'
import { isHeard } from '../sql/clock-ahead.ts'

/** What one process did since its last sample. */
export interface FlowCounts {
  readonly applied: number
  readonly duplicates: number
  readonly setAside: number
  readonly failed: number
}

/** Rows are counted this far, so that a sample stays short. */
const pendingMax = 10_000
const lagIsKnownFor = '90 seconds'

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

/** The samples of the last hour, one value for each minute, oldest first; null for a minute without one. */
export interface FlowSeries {
  readonly consumer: string
  readonly applied: readonly (number | null)[]
  readonly duplicates: readonly (number | null)[]
  readonly setAside: readonly (number | null)[]
  readonly failed: readonly (number | null)[]
  readonly lag: readonly (number | null)[]
  readonly pending: readonly (number | null)[]
  /** Applied messages per second, over the last whole minutes; null without a sample. */
  readonly perSecond: number | null
}

/** Messages of one hour, by outcome. */
export interface FlowHour {
  /** Start of the first minute. */
  readonly from: Date
  readonly consumers: readonly FlowSeries[]
}

/** At most 64 rows for each generation of a consumer. */
const read = `
  with hour as (
    select n, date_trunc('minute', clock_timestamp()) - (59 - n) * interval '1 minute' as minute
    from generate_series(0, 59) as n),
  summed as (
    select c.name, s.minute, sum(applied) as applied, sum(duplicates) as duplicates, sum(set_aside) as set_aside,
      sum(failed) as failed, sum(lag) as lag, sum(pending) as pending
    from onceward.sample s join onceward.consumer c on c.id = s.consumer_id
    where s.minute > clock_timestamp() - interval '61 minutes' group by 1, 2)
  select (select min(minute) from hour) as "from", c.name as consumer,
    array_agg(s.applied::float8 order by n) as applied, array_agg(s.duplicates::float8 order by n) as duplicates,
    array_agg(s.set_aside::float8 order by n) as "setAside", array_agg(s.failed::float8 order by n) as failed,
    array_agg(s.lag::float8 order by n) as lag, array_agg(s.pending::float8 order by n) as pending
  from (select distinct name from onceward.consumer) c cross join hour
  left join summed s on s.name = c.name and s.minute = hour.minute
  group by c.name order by c.name`

export async function readFlow(client: SqlClient): Promise<FlowHour> {
  const { rows } = await client.query(read)
  const consumers = rows.map(({ from: _, ...series }) => ({
    ...series,
    perSecond: perSecond(series.applied),
  }))
  return { from: rows[0]?.from ?? new Date(), consumers }
}

/** The running minute is not whole yet, so the two before it count. */
function perSecond(applied: readonly (number | null)[]): number | null {
  const known = applied.slice(-3, -1).filter(value => value !== null)
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length / 60
}

/** What waits at the source of each consumer; null while no live process knows it. */
export interface SourceLag {
  readonly consumer: string
  readonly partition: string
  readonly behind: number
}

export async function readLag(client: SqlClient): Promise<readonly SourceLag[]> {
  const { rows } = await client.query(`
    select c.name as consumer, l.key as partition, max(l.value::bigint)::float8 as behind
    from onceward.run r join onceward.consumer c on c.id = r.consumer_id, jsonb_each_text(r.lag) l
    where r.ended_at is null and l.value is not null and ${isHeard('r.lag_at', lagIsKnownFor)}
    group by 1, 2 order by 1, 2`)
  return rows
}
