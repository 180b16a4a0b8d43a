import { assertUsable } from '../../drivers/postgres/assert-usable.ts'
import { type ParkedFilter, type ParkedRow, readParked } from '../../drivers/postgres/parking/read-parked.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'

export { parkedStates } from '../../drivers/postgres/parking/read-parked.ts'

/** In order of their ids. Every page costs the same, regardless of how many messages are parked. */
export async function listParked(pool: SqlPool, filter: ParkedFilter): Promise<readonly ParkedRow[]> {
  await assertUsable(pool)
  return readParked(pool, filter)
}
