import type { SqlPool } from '../pool.ts'
import type { RowPlace } from './take-rows.ts'

/**
 * One index lookup for each row. Without it the planner reads a table of 20,000 rows completely (20 ms
 * instead of 2).
 */
const found = `
  select row.ctid from unnest($2::smallint[], $3::bigint[]) as wanted (bucket, id) cross join lateral (
    select ctid from onceward.outbox where destination = $1 and bucket = wanted.bucket and id = wanted.id limit 1
  ) as row`

const remove = `delete from onceward.outbox where ctid = any (array(${found}))`

/**
 * A relay that has the confirm of a row may delete it even after losing its lease: the broker has the
 * message.
 */
export async function removeRows(
  pool: SqlPool,
  destination: string,
  rows: readonly RowPlace[],
): Promise<void> {
  await pool.query(remove, [destination, rows.map(({ bucket }) => bucket), rows.map(({ id }) => id)])
}
