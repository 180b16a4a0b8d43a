import type { SqlPool } from '../pool.ts'
import { readOnly } from './read-only.ts'

/** Ids greater than `after`, up to `to`; null is the end. */
export interface IdRange {
  readonly after: string
  readonly to: string | null
}

/** Markers per statement: few enough for its memory, many enough for sinks without an index. */
const stretchRows = 200_000

const next = (table: string, column: string) => `
  select t.${column} as id from ${table} t where t.consumer_id = $1 and t.${column} > $2 order by t.${column} offset ${stretchRows} limit 1`

/** Divides all ids into ranges with this many rows of a table each. The first and the last range are open. */
export async function* walkIds(
  pool: SqlPool,
  consumerId: number,
  table: string,
  column: string,
): AsyncGenerator<IdRange> {
  let after = ''
  for (;;) {
    const { rows } = await readOnly(pool, table, next(table, column), [consumerId, after])
    const to = (rows[0]?.id as string | undefined) ?? null
    yield { after, to }
    if (to === null) return
    after = to
  }
}

/** The ids of a consumer's markers. */
export function walkMarkers(pool: SqlPool, consumerId: number): AsyncGenerator<IdRange> {
  return walkIds(pool, consumerId, 'onceward.inbox', 'message_id')
}
