import { inert } from '../../crash-points.ts'
import { acts } from '../../drivers/postgres/acts.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { type ActArguments, type ActOptions, act } from '../act.ts'

export interface Selected extends ActArguments {
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
