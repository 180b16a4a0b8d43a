import { acts } from '../../drivers/postgres/acts.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { type ActArguments, act } from '../act.ts'

export interface DroppedTenant {
  /** Rows by kind; null if the act was requested and another person has to complete it. */
  readonly removed: Readonly<Record<string, number>> | null
  /** When a request ends; only with `removed: null`. */
  readonly until?: string
}

/**
 * Removes all rows of one tenant, under every generation of the consumer. Refused while one of its messages
 * is unfinished or could still be redelivered. At risk money and regulatory the first call is a request, and
 * the same call of a second person removes the rows.
 */
export function dropTenant(
  pool: SqlPool,
  { consumer, tenant, because }: ActArguments & { readonly tenant: string },
): Promise<DroppedTenant> {
  return act(pool, acts.dropTenant, [consumer, tenant, because], undefined, 'onceward retention status')
}
