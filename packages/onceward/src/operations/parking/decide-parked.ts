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
 * Skips messages for a reason. Their bytes are kept, a redelivered copy is a duplicate, and messages behind
 * them continue.
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

/** Fields that are not given stay unchanged. */
export function classifyParked(
  pool: SqlPool,
  { consumer, ids, label, assignee, note }: Triage,
): Promise<{ readonly rows: number }> {
  return act(pool, acts.triageParked, [consumer, ids, label ?? null, assignee ?? null, note ?? null])
}
