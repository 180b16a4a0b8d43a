import { acts } from '../../drivers/postgres/acts.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { act } from '../act.ts'

export interface Release {
  readonly id: string
  /** The consumer's name, as confirmation: a mistyped id cannot release the work of another consumer. */
  readonly consumer: string
  readonly because: string
  /** How often the row had been leased when the operator looked. Without it, any number is accepted. */
  readonly leases?: number | undefined
}

/**
 * Makes work due now. It ends a lease and fences its worker, or cuts a wait or a delay short. A parked
 * message is tried once more, together with everything of its key, in order, as far as order allows.
 * Quarantined work stays, and only its key is unblocked. The database records who and why in the same
 * transaction; refusals are in the audit too.
 */
export async function releaseHeld(
  pool: SqlPool,
  { id, consumer, because, leases }: Release,
): Promise<{ readonly released: number; readonly from: string }> {
  const { released, from } = await act<{ released: number; from: string }>(
    pool,
    acts.releaseHeld,
    [consumer, id, leases ?? null, because],
    undefined,
    'onceward work list',
  )
  return { released, from }
}
