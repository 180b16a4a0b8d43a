import type { ParkedFilter, ParkedRow } from '../../drivers/postgres/parking/read-parked.ts'
import {
  type KeyBacklog,
  readFollowers,
  readSelectionDigest,
} from '../../drivers/postgres/parking/read-selection.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { refused } from './act.ts'
import { listParked } from './list-parked.ts'

/** Exactly what an act would take, and the digest that binds it. */
export interface ParkedPreview {
  readonly rows: readonly ParkedRow[]
  /** Over numbers, states, contents and fixes of these rows; changes when any of them does. Hexadecimal. */
  readonly digest: string
  /** There are more like these, beyond `countMax`. */
  readonly more: boolean
  /** Messages that wait behind them and go on with them, by key; counted up to a thousand. */
  readonly behind: readonly KeyBacklog[]
}

/** Costs as much as what it selects, however many others there are. */
export async function previewParked(pool: SqlPool, filter: ParkedFilter): Promise<ParkedPreview> {
  if (filter.consumer === undefined) throw refused('Say of which consumer.')
  const found = await listParked(pool, { ...filter, countMax: filter.countMax + 1 })
  const rows = found.slice(0, filter.countMax)
  const ids = rows.map(row => row.id)
  const digest = await readSelectionDigest(pool, ids)
  const keys = [...new Set(rows.flatMap(row => row.key ?? []))]
  const behind = await readFollowers(pool, keys, filter.consumer, ids)
  return { rows, digest, more: found.length > rows.length, behind }
}
