import type { Enrolment } from '../../../contracts/store.ts'
import type { SqlClient } from '../pool.ts'

/** The state list is that of the index; what is parked has blocked its key already. */
const atWork = `
  select asked.key from unnest($2::text[]) as asked (key) where exists (
    select from onceward.held h
    where h.consumer_id = $1 and h.order_key = asked.key and h.order_key is not null and h.state in ('stored', 'parked'))`

export async function keysAtWork(
  client: SqlClient,
  { consumerId }: Enrolment,
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await client.query(atWork, [consumerId, keys])
  return new Set(rows.map(row => row.key as string))
}
