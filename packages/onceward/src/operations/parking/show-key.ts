import { assertUsable } from '../../drivers/postgres/assert-usable.ts'
import { type KeyView, readKey } from '../../drivers/postgres/parking/read-key.ts'
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
