import type { KeyAtWork } from '../../../contracts/held-work.ts'
import type { Enrolment } from '../../../contracts/store.ts'
import type { SqlClient } from '../pool.ts'

/**
 * The state list is that of the index. Blocked keys are locked, so that whoever frees one waits for what is about to be parked behind it; if it
 * was freed meanwhile, what was parked is still seen here and the key is at work.
 */
const atWork = `
  with blocked as materialized (
    select key from onceward.blocked_key where consumer_id = $1 and key = any($2::text[]) for share)
  select asked.key, blocked.key is not null as blocked,
    coalesce(greatest(0, extract(epoch from last.due_at - clock_timestamp()) * 1000), 0)::float8 as "dueInMs"
  from unnest($2::text[]) as asked (key)
  left join blocked on blocked.key = asked.key
  left join lateral (
    select h.id, h.due_at from onceward.held h
    where h.consumer_id = $1 and h.order_key = asked.key and h.order_key is not null and h.state in ('stored', 'parked')
    order by h.id desc limit 1) last on true
  where blocked.key is not null or last.id is not null`

export async function keysAtWork(
  client: SqlClient,
  { consumerId }: Enrolment,
  keys: readonly string[],
): Promise<ReadonlyMap<string, KeyAtWork>> {
  const { rows } = await client.query(atWork, [consumerId, keys])
  return new Map(rows.map(({ key, blocked, dueInMs }) => [key as string, { blocked, dueInMs }]))
}
