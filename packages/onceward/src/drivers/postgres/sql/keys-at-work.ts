import type { Enrolment } from '../../../ports/enrolment.ts'
import type { SqlClient } from '../pool.ts'
import { anyFirst } from './any-first.ts'

const anyAtWork = anyFirst(`
  select from onceward.held where consumer_id = $1 and order_key is not null and state in ('stored', 'parked') order by order_key, id`)

/**
 * The state list is that of the index; a parked row has already blocked its key. The last row of a key has
 * the time of the ones before it.
 */
const atWork = `
  select asked.key, coalesce(greatest(0, extract(epoch from last.due_at - clock_timestamp()) * 1000), 0)::float8 as "dueInMs"
  from unnest($2::text[]) as asked (key)
  cross join lateral (
    select h.due_at from onceward.held h
    where h.consumer_id = $1 and h.order_key = asked.key and h.order_key is not null and h.state in ('stored', 'parked')
    order by h.id desc limit 1) last`

const none: ReadonlyMap<string, number> = new Map()

export async function keysAtWork(
  client: SqlClient,
  enrolment: Enrolment,
  keys: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  if (!(await anyAtWork(client, enrolment, keys.length))) return none
  const { rows } = await client.query(atWork, [enrolment.consumerId, keys])
  return new Map(rows.map(({ key, dueInMs }) => [key as string, dueInMs as number]))
}
