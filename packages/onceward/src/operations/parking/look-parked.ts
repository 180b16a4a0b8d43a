import { assertUsable } from '../../drivers/postgres/migrate.ts'
import { type KeyView, readKey } from '../../drivers/postgres/parking/read-key.ts'
import { type RedriveSummary, readRedrives } from '../../drivers/postgres/parking/read-redrives.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'

/** One order key as an object: whether it is blocked, and its messages in order. */
export async function showKey(
  pool: SqlPool,
  consumer: string,
  key: string,
  countMax = 100,
): Promise<KeyView> {
  await assertUsable(pool)
  return readKey(pool, consumer, key, countMax)
}

/** Newest first. */
export async function listRedrives(
  pool: SqlPool,
  filter: { readonly consumers?: readonly string[] | undefined; readonly countMax: number },
): Promise<readonly RedriveSummary[]> {
  await assertUsable(pool)
  return readRedrives(pool, filter)
}
