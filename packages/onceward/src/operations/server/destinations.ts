import { acts } from '../../drivers/postgres/acts.ts'
import { assertUsable } from '../../drivers/postgres/assert-usable.ts'
import { type KnownDestination, readDestinations } from '../../drivers/postgres/outbox/read-destinations.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { act } from '../act.ts'

/** The brokers that messages of the outbox go to. */
export async function listDestinations(pool: SqlPool): Promise<readonly KnownDestination[]> {
  await assertUsable(pool)
  return readDestinations(pool)
}

/**
 * Removes a destination that no relay is connected to. Its waiting messages move to `to`, a destination of
 * the same kind.
 */
export async function retireDestination(
  pool: SqlPool,
  name: string,
  to: string | null,
  because: string,
): Promise<{ readonly moved: number }> {
  return act(pool, acts.retireDestination, [name, to, because], undefined, 'onceward destinations')
}
