import { assertUsable } from '../../drivers/postgres/assert-usable.ts'
import { type ClosedFilter, type ClosedRow, readClosed } from '../../drivers/postgres/parking/read-closed.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'

/** In order of their ids, with the total count. */
export async function listClosed(
  pool: SqlPool,
  filter: ClosedFilter,
): Promise<{ readonly total: number; readonly rows: readonly ClosedRow[] }> {
  await assertUsable(pool)
  return readClosed(pool, filter)
}
