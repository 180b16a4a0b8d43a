import type { SqlPool } from '../pool.ts'

/** Messages of one consumer that wait for the same schema, with one of them. */
export interface UnknownSchema {
  readonly reason: string
  readonly ids: readonly string[]
  readonly sample: {
    readonly body: Buffer
    readonly headers: string | null
    readonly properties: string | null
    readonly brokerKey: string | null
  }
}

/** The state is a literal, so that the partial index serves: without such messages the cost is a lookup. */
const groups = `
  with waiting as (
    select h.id, h.reason from onceward.consumer c
    join onceward.held h on h.consumer_id = c.id and h.state = 'parked' and h.code = 'unknown_schema'
    where c.name = $1 and c.generation = $2),
  grouped as (
    select reason, (array_agg(id order by id))[1:$4] as ids from waiting
    group by reason having min(id) > $5 order by min(id) limit $3)
  select g.reason, g.ids::text[] as ids, h.body, h.headers::text, h.properties::text, h.broker_key as "brokerKey"
  from grouped g join onceward.held h on h.id = g.ids[1] order by h.id`

/** The schemas whose oldest message comes after that one, in the order of these messages. */
export async function readUnknownSchemas(
  pool: SqlPool,
  { name, generation }: { readonly name: string; readonly generation: number },
  after: string,
  groupsMax: number,
  idsMax: number,
): Promise<readonly UnknownSchema[]> {
  const { rows } = await pool.query(groups, [name, generation, groupsMax, idsMax, after])
  return rows.map(({ reason, ids, ...sample }) => ({ reason, ids, sample }))
}
