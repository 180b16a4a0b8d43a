import type { SqlPool } from '../pool.ts'

/** Covers ids, states, contents and fixes of these rows. Hexadecimal. */
export async function readSelectionDigest(pool: SqlPool, ids: readonly string[]): Promise<string> {
  const { rows } = await pool.query(
    `select encode(onceward.selection_digest($1::bigint[]), 'hex') as digest`,
    [ids],
  )
  return rows[0].digest
}

export interface KeyBacklog {
  readonly key: string
  readonly count: number
}

const followers = `
  select h.key, waits.count from unnest($1::text[]) as h (key)
  cross join lateral (
    select count(*)::integer as count from (
      select from onceward.held w join onceward.consumer c on c.id = w.consumer_id and c.name = $2
      where w.order_key = h.key and w.order_key is not null and w.state in ('stored', 'parked') and w.state = 'parked'
        and w.id <> all ($3::bigint[]) limit 1000) w) waits
  where waits.count > 0`

/** Parked messages of these keys other than `ids`, counted up to 1,000 per key. */
export async function readFollowers(
  pool: SqlPool,
  keys: readonly string[],
  consumer: string,
  ids: readonly string[],
): Promise<readonly KeyBacklog[]> {
  if (keys.length === 0) return []
  return (await pool.query(followers, [keys, consumer, ids])).rows
}
