import type { SqlPool } from '../pool.ts'

/**
 * The destination that the last run of this consumer with an address recorded, by kind of broker; none when
 * it was retired since.
 */
const lastRun = `
  select known from (
    select r.destinations -> $2 as known from onceward.run r join onceward.consumer c on c.id = r.consumer_id
    where c.name = $1 and r.destinations -> $2 ->> 'address' is not null order by r.id desc limit 1) last
  where exists (select from onceward.destination d where d.name = known ->> 'name')`

export interface LastDestination {
  readonly name: string
  readonly address: string | null
}

export async function readLastRun(
  pool: SqlPool,
  consumer: string,
  kind: string,
): Promise<LastDestination | null> {
  const { rows } = await pool.query(lastRun, [consumer, kind])
  return rows[0]?.known ?? null
}

/** The only destination of this kind. The function raises 22023 when there are several. */
export async function readDefaultDestination(pool: SqlPool, kind: string): Promise<string> {
  return (await pool.query('select onceward.default_destination($1) as name', [kind])).rows[0].name
}
