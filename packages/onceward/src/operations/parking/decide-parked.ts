import { inert } from '../../crash-points.ts'
import { acts } from '../../drivers/postgres/acts.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { type ActOptions, act, type Said } from './act.ts'

export interface Selected extends Said {
  readonly ids: readonly string[]
  /** The digest of the preview, in hexadecimal. */
  readonly digest: string
}

/**
 * Gives messages up, with a reason: a declared gap. Their bytes are kept, a copy of them is a duplicate, and
 * what waits behind them goes on.
 */
export function skipParked(
  pool: SqlPool,
  { consumer, ids, digest, because }: Selected,
  options: ActOptions = {},
): Promise<{ readonly closed: number; readonly freed: number }> {
  return act(pool, acts.skipParked, [consumer, ids, digest, because], () =>
    (options.reach ?? inert)('parking.skipped'),
  )
}

export interface Triage {
  readonly consumer: string
  readonly ids: readonly string[]
  readonly label?: string | undefined
  readonly assignee?: string | undefined
  readonly note?: string | undefined
}

/** What is not given stays as it was. */
export function classifyParked(
  pool: SqlPool,
  { consumer, ids, label, assignee, note }: Triage,
): Promise<{ readonly rows: number }> {
  return act(pool, acts.triageParked, [consumer, ids, label ?? null, assignee ?? null, note ?? null])
}
