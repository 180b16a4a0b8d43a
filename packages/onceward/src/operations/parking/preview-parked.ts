import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { refused } from './act.ts'
import { listParked, type ParkedFilter, type ParkedRow } from './list-parked.ts'

/** Exactly what an act would take, and the digest that binds it. */
export interface ParkedPreview {
  readonly rows: readonly ParkedRow[]
  /** Over numbers, states, contents and fixes of these rows; changes when any of them does. Hexadecimal. */
  readonly digest: string
  /** There are more like these, beyond `countMax`. */
  readonly more: boolean
  /** Messages that wait behind them and go on with them, by key; counted up to a thousand. */
  readonly behind: readonly { readonly key: string; readonly count: number }[]
}

const followers = `
  select h.key, waits.count from unnest($1::text[]) as h (key)
  cross join lateral (
    select count(*)::integer as count from (
      select from onceward.held w join onceward.consumer c on c.id = w.consumer_id and c.name = $2
      where w.order_key = h.key and w.order_key is not null and w.state in ('stored', 'parked') and w.state = 'parked'
        and w.id <> all ($3::bigint[]) limit 1000) w) waits
  where waits.count > 0`

/** Costs as much as what it selects, however many others there are. */
export async function previewParked(pool: SqlPool, filter: ParkedFilter): Promise<ParkedPreview> {
  if (filter.consumer === undefined) throw refused('Say of which consumer.')
  const found = await listParked(pool, { ...filter, countMax: filter.countMax + 1 })
  const rows = found.slice(0, filter.countMax)
  const ids = rows.map(row => row.id)
  const digest = await pool.query(`select encode(onceward.selection_digest($1::bigint[]), 'hex') as digest`, [
    ids,
  ])
  const keys = [...new Set(rows.flatMap(row => row.key ?? []))]
  const behind = keys.length === 0 ? [] : (await pool.query(followers, [keys, filter.consumer, ids])).rows
  return { rows, digest: digest.rows[0].digest, more: found.length > rows.length, behind }
}
