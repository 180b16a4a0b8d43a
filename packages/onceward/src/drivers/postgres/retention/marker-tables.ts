import type { SqlClient, SqlPool } from '../pool.ts'
import type { RetentionKind } from './kinds.ts'

/** A day of a consumer's markers, by their ids. */
export interface MarkerDay {
  readonly day: string
  readonly table: string
  readonly blocks: number
  /** All of its ids are older than the cutoff. */
  readonly isPast: boolean
  /** They were already older one day before. */
  readonly isLongPast: boolean
}

const tableOf = `
  select case when (select relkind from pg_class where oid = 'onceward.inbox'::regclass) = 'r' then 'onceward.inbox'
    when to_regclass('onceward.inbox_' || $1::integer) is null then 'onceward.inbox_rest'
    else 'onceward.inbox_' || $1::integer || '_rest' end as table`

/** A ctid identifies a row only within one table, so a partitioned table is scanned by partition. */
export async function walkedTable(
  client: SqlClient,
  kind: RetentionKind,
  consumerId: number,
): Promise<string> {
  if (kind.kind !== 'markers') return kind.table
  const { rows } = await client.query(tableOf, [consumerId])
  return rows[0].table
}

const days = `
  select to_char(day, 'YYYY-MM-DD') as day, 'onceward.' || relname as table, (day + 1)::timestamp at time zone 'UTC' <= $2::timestamptz as "isPast",
    (day + 2)::timestamp at time zone 'UTC' <= $2::timestamptz as "isLongPast",
    coalesce(pg_relation_size(oid) / current_setting('block_size')::bigint, 0)::float8 as blocks
  from (
    select c.oid, c.relname, to_date(right(c.relname, 8), 'YYYYMMDD') as day from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = to_regclass('onceward.inbox_' || $1::integer) and c.relname ~ '_[0-9]{8}$') part
  order by day`

/** Oldest first; none when the consumer's markers share a table with others. */
export async function readDays(
  pool: Pick<SqlPool, 'query'>,
  consumerId: number,
  cutoff: string,
): Promise<readonly MarkerDay[]> {
  return (await pool.query(days, [consumerId, cutoff])).rows as MarkerDay[]
}

/** Whether the consumer's markers are in daily partitions. */
export async function liesInDays(pool: Pick<SqlPool, 'query'>, consumerId: number): Promise<boolean> {
  const { rows } = await pool.query(
    `select to_regclass('onceward.inbox_' || $1::integer) is not null as days`,
    [consumerId],
  )
  return rows[0].days
}
