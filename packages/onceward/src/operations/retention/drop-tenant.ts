import { acts } from '../../drivers/postgres/acts.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { type ActArguments, act } from '../act.ts'

export interface DroppedTenant {
  /** Rows by kind. */
  readonly removed: Readonly<Record<string, number>>
}

/**
 * Removes all rows of one tenant, under every generation of the consumer. Refused while one of its messages
 * is unfinished or could still be redelivered.
 */
export function dropTenant(
  pool: SqlPool,
  { consumer, tenant, because }: ActArguments & { readonly tenant: string },
): Promise<DroppedTenant> {
  return act(pool, acts.dropTenant, [consumer, tenant, because], undefined, 'onceward retention status')
}
