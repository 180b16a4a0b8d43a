import { assertUsable } from '../drivers/postgres/assert-usable.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import { readStatusRows, type Status } from '../drivers/postgres/status/read-status-rows.ts'

export { type RetentionStatus, readRetention } from '../drivers/postgres/retention/read-retention.ts'
export type { Status } from '../drivers/postgres/status/read-status-rows.ts'

/** The state of every consumer, queue, outbox and relay of the database. */
export async function readStatus(pool: SqlPool): Promise<Status> {
  await assertUsable(pool)
  return readStatusRows(pool)
}
