import type { SqlClient } from '../pool.ts'

export interface OpenLosses {
  readonly consumer: string
  readonly waiting: number
}

const read = `
  select c.name as consumer, count(g.id)::integer as waiting
  from onceward.consumer c left join onceward.loss g
    on g.consumer_id = c.id and g.accepted_at is null and g.resumed_at is null
  group by c.name order by waiting desc, consumer limit $1`

/** Losses that no operator has accepted, of every consumer of the database. */
export async function readOpenLosses(
  client: Pick<SqlClient, 'query'>,
  rowsMax: number,
): Promise<readonly OpenLosses[]> {
  return (await client.query(read, [rowsMax])).rows
}
