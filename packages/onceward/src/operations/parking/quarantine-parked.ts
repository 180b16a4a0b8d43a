import { acts } from '../../drivers/postgres/acts.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { act } from '../act.ts'
import type { Selected } from './skip-parked.ts'

/**
 * Sets parked messages aside, so that acts on parked messages leave them out. Their keys stay blocked. They
 * can still be redriven, skipped or deleted.
 */
export function quarantineParked(
  pool: SqlPool,
  { consumer, ids, digest, because }: Selected,
): Promise<{ readonly quarantined: number }> {
  return act(pool, acts.quarantineParked, [consumer, ids, digest, because])
}
