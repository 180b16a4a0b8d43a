import type { SqlTransaction } from '../../../contract/handler.ts'

/** The projection's table; names are quoted. */
interface ProjectedTable {
  readonly name: string
  readonly keys: readonly { readonly name: string; readonly type: string }[]
  readonly version: { readonly name: string }
}

/** The maximum number of table lookups per call, however many keys wait. */
const keysMax = 1_000

/**
 * Releases messages whose row has reached the version before theirs because another consumer of the table, or
 * another program, wrote it. A batch releases the messages that its own facts make ready, but does not see
 * other writers. Checks the keys after the given one and returns the last key checked, or the empty string
 * once it has checked all.
 */
export async function releaseClosed(
  query: SqlTransaction['query'],
  table: ProjectedTable,
  consumerId: number,
  after: string,
): Promise<string> {
  const { rows } = await query<{ last: string | null; count: number }>(statement(table), [consumerId, after])
  const { last, count } = rows[0]!
  return count < keysMax ? '' : last!
}

function statement({ name, keys, version }: ProjectedTable): string {
  const part = (index: number) => (keys.length === 1 ? 'w.order_key' : `(w.order_key::jsonb ->> ${index})`)
  const sameKey = keys.map((key, index) => `t.${key.name} = ${part(index)}::${key.type}`).join(' and ')
  return `
    with waiting as materialized (
      select distinct on (h.order_key) h.order_key, h.version from onceward.held h
      where h.consumer_id = $1 and h.state = 'waiting' and not h.released and h.order_key > $2
      order by h.order_key, h.version limit ${keysMax}),
    ready as materialized (
      select w.order_key, t.version from waiting w
      cross join lateral (select t.${version.name}::bigint as version from ${name} t where ${sameKey} limit 1) t
      where w.version - 1 <= t.version),
    free as materialized (
      select h.id, row_number() over (order by h.order_key, h.version) as place from ready r
      join onceward.held h on h.consumer_id = $1 and h.state = 'waiting' and h.order_key = r.order_key and h.version - 1 <= r.version
      where not h.released),
    released as (
      update onceward.held h set released = true, due_at = clock_timestamp() + free.place * interval '1 microsecond', last_at = clock_timestamp()
      from free where h.id = free.id and h.state = 'waiting' and not h.released)
    select max(order_key) as last, count(*)::integer as count from waiting`
}
