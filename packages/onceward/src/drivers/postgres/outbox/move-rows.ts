import { errorCode } from '../../../errors.ts'
import type { SqlPool } from '../pool.ts'
import type { Wanted } from './take-rows.ts'

/**
 * Moves the first rows of the buckets to queues of the same database in one statement: exactly once, and no
 * body leaves the server. If another relay moves the same rows, this statement waits for it and then finds
 * none. The left join turns a missing queue into an error.
 */
const move = `
  with front as materialized (
    select taken.ctid from unnest($2::smallint[]) as mine (bucket) cross join lateral (
      select ctid from onceward.outbox where destination = $1 and bucket = mine.bucket order by id limit $3
    ) as taken limit $4
  ), gone as (
    delete from onceward.outbox where ctid = any (array(select ctid from front))
    returning id, bucket, queue, message_id, key, headers, properties, body
  ), put as (
    insert into onceward.queue_message (queue_id, message_id, key, headers, properties, body)
    select queue.id, message_id, gone.key, headers, properties, body
    from gone left join onceward.queue on queue.name = gone.queue order by gone.id
  )
  select bucket, count(*)::int as rows from gone group by bucket`

const createMissingQueues = `
  insert into onceward.queue (name)
  select distinct queue from onceward.outbox
  where destination = $1 and bucket = any ($2::smallint[])
    and not exists (select from onceward.queue where queue.name = outbox.queue)
  on conflict do nothing`

const notNull = '23502'

/** Returns the number of moved rows per bucket. */
export async function moveRows(
  pool: SqlPool,
  destination: string,
  { buckets, perBucketMax, max }: Pick<Wanted, 'buckets' | 'perBucketMax' | 'max'>,
): Promise<readonly { readonly bucket: number; readonly rows: number }[]> {
  const values = [destination, buckets, perBucketMax, max]
  try {
    return (await pool.query(move, values)).rows
  } catch (error) {
    if (errorCode(error) !== notNull) throw error
    await pool.query(createMissingQueues, [destination, buckets])
    return (await pool.query(move, values)).rows
  }
}
