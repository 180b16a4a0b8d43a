import { acts } from '../../drivers/postgres/acts.ts'
import { assertUsable } from '../../drivers/postgres/assert-usable.ts'
import { readFilters, type SavedFilter } from '../../drivers/postgres/parking/read-filters.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { act } from '../act.ts'

/** The filters of the person who acts, by name. */
export async function listFilters(pool: SqlPool): Promise<readonly SavedFilter[]> {
  await assertUsable(pool)
  return readFilters(pool)
}

/** Replaces the filter of this name. A person has at most 50. */
export async function saveFilter(pool: SqlPool, name: string, query: string): Promise<void> {
  await act(pool, acts.saveFilter, [name, query])
}

/** Removes a saved filter of the console. */
export function removeFilter(pool: SqlPool, name: string): Promise<{ readonly removed: boolean }> {
  return act(pool, acts.removeFilter, [name])
}
