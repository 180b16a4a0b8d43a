import type { SqlClient } from '../pool.ts'

export interface UnservedDestination {
  readonly destination: string
  readonly broker: string
  readonly waiting: number
}

const read = `
  with unserved as materialized (select destination, waiting from onceward.outbox_unserved)
  select name as destination, split_part(name, ':', 1) as broker, coalesce(waiting, 0) as waiting
  from (select name from onceward.destination union select destination from onceward.relay
    union select destination from unserved) as known (name)
  left join unserved on unserved.destination = name order by waiting desc, name limit $1`

/** Rows of the outbox whose destination has no live relay; destinations that are served have 0. */
export async function readUnservedOutbox(
  client: Pick<SqlClient, 'query'>,
  rowsMax: number,
): Promise<readonly UnservedDestination[]> {
  return (await client.query(read, [rowsMax])).rows
}
