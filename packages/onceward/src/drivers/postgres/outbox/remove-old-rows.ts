import type { SqlPool } from '../pool.ts'

/** Looks only at the front of each bucket, so a look costs the same however much is kept. */
const removeOld = `
  delete from onceward.outbox using (
    select front.bucket, front.id from generate_series(0, 31) as every (bucket) cross join lateral (
      select bucket, id, created_at from onceward.outbox where destination = 'cdc' and outbox.bucket = every.bucket
      order by id limit 100
    ) as front where front.created_at < clock_timestamp() - $1::double precision * interval '1 millisecond'
  ) as old where destination = 'cdc' and outbox.bucket = old.bucket and outbox.id = old.id`

/** Removes rows that were left for change data capture. Answers with how many. */
export async function removeOldRows(pool: SqlPool, keepMs: number): Promise<number> {
  const { rowCount } = await pool.query(removeOld, [keepMs])
  return rowCount ?? 0
}
