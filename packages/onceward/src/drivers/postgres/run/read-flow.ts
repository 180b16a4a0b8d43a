import type { SqlClient } from '../pool.ts'
import { isHeard } from '../sql/clock-ahead.ts'

/** A process that has not reported for this long is not counted. */
export const lagIsKnownFor = '90 seconds'

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
