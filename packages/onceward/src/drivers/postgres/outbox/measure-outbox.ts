import type { SqlPool } from '../pool.ts'

/** The first row of each bucket is its oldest, or close to it. */
const oldest = `
  select extract(epoch from clock_timestamp() - min(created_at))::float8 as seconds
  from generate_series(0, 31) as every (bucket) cross join lateral (
    select created_at from onceward.outbox where destination = $1 and outbox.bucket = every.bucket order by id limit 1
  ) as front`

const size =
  'select count(*)::float8 as n from (select from onceward.outbox where destination = $1 limit 100000) first'

const behind =
  'select coalesce(sum(behind), 0)::float8 as n from onceward.outbox_stuck where destination = $1'

/** 0 for an empty outbox. */
export async function readOldestSeconds(pool: SqlPool, destination: string): Promise<number> {
  return (await pool.query(oldest, [destination])).rows[0].seconds ?? 0
}

export async function countRows(pool: SqlPool, destination: string): Promise<number> {
  return (await pool.query(size, [destination])).rows[0].n
}

/** Rows that wait behind a failing row. */
export async function countBehind(pool: SqlPool, destination: string): Promise<number> {
  return (await pool.query(behind, [destination])).rows[0].n
}
