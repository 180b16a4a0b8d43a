import { type CalledTarget, readCalledTargets } from '../../drivers/postgres/ledger/called-targets.ts'
import type { ParkedFilter, ParkedRow } from '../../drivers/postgres/parking/read-parked.ts'
import {
  type KeyBacklog,
  readFollowers,
  readSelectionDigest,
} from '../../drivers/postgres/parking/read-selection.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { refused } from '../act.ts'
import { listParked } from './list-parked.ts'

export type { CalledTarget } from '../../drivers/postgres/ledger/called-targets.ts'

/** The exact rows of an act, and the digest that binds them. */
export interface ParkedPreview {
  readonly rows: readonly ParkedRow[]
  /** Covers ids, states, contents and fixes of these rows. Hexadecimal. */
  readonly digest: string
  /** More rows match beyond `countMax`. */
  readonly more: boolean
  /** Messages behind them, by key; counted up to 1,000 per key. */
  readonly behind: readonly KeyBacklog[]
  /** The external targets that messages of the consumer have called, and how often. */
  readonly targets: readonly CalledTarget[]
}

/** The cost depends on the selected rows only. */
export async function previewParked(pool: SqlPool, filter: ParkedFilter): Promise<ParkedPreview> {
  if (filter.consumer === undefined) throw refused('Pass the consumer name.')
  const found = await listParked(pool, { ...filter, countMax: filter.countMax + 1 })
  const rows = found.slice(0, filter.countMax)
  const ids = rows.map(row => row.id)
  const digest = await readSelectionDigest(pool, ids)
  const keys = [...new Set(rows.flatMap(row => row.key ?? []))]
  const behind = await readFollowers(pool, keys, filter.consumer, ids)
  const targets = await readCalledTargets(pool, filter.consumer)
  return { rows, digest, more: found.length > rows.length, behind, targets }
}
