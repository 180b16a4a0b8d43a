import { assertUsable } from '../../drivers/postgres/assert-usable.ts'
import { type ParkedGroup, readGroups } from '../../drivers/postgres/parking/read-groups.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'

/** Messages that failed alike, with the largest group first. */
export async function groupParked(
  pool: SqlPool,
  { consumer, countMax }: { readonly consumer?: string | undefined; readonly countMax: number },
): Promise<readonly ParkedGroup[]> {
  await assertUsable(pool)
  return readGroups(pool, consumer ?? null, countMax)
}
