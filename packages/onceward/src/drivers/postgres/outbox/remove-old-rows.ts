import type { SqlPool } from '../pool.ts'

/** Reads only the first rows of each bucket, so the cost does not grow with the number of kept rows. */
const removeOld = `
  delete from onceward.outbox using (
    select front.bucket, front.id from generate_series(0, 31) as every (bucket) cross join lateral (
      select bucket, id, created_at from onceward.outbox where destination = 'cdc' and outbox.bucket = every.bucket
      order by id limit 100
    ) as front where front.created_at < clock_timestamp() - $1::double precision * interval '1 millisecond'
  ) as old where destination = 'cdc' and outbox.bucket = old.bucket and outbox.id = old.id`

/** Removes old rows that were kept for change data capture and returns their number. */
export async function removeOldRows(pool: SqlPool, keepMs: number): Promise<number> {
  const { rowCount } = await pool.query(removeOld, [keepMs])
  return rowCount ?? 0
}
