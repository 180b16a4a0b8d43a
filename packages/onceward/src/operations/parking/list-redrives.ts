import { assertUsable } from '../../drivers/postgres/assert-usable.ts'
import {
  type RedriveFilter,
  type RedriveSummary,
  readRedrives,
} from '../../drivers/postgres/parking/read-redrives.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'

/** Newest first. */
export async function listRedrives(pool: SqlPool, filter: RedriveFilter): Promise<readonly RedriveSummary[]> {
  await assertUsable(pool)
  return readRedrives(pool, filter)
}
