import { acts } from '../drivers/postgres/acts.ts'
import { assertUsable } from '../drivers/postgres/assert-usable.ts'
import { readStuck, type StuckMessage } from '../drivers/postgres/outbox/read-stuck.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import { act } from './act.ts'

/** Messages that block the most others come first. */
export async function listStuck(pool: SqlPool, limit = 100): Promise<readonly StuckMessage[]> {
  await assertUsable(pool)
  return readStuck(pool, limit)
}

/**
 * Drops a message that its broker refuses. Relays then publish the messages behind it. The audit keeps its
 * id, its digest and the reason.
 */
export async function dropStuck(
  pool: SqlPool,
  id: string,
  messageId: string,
  because: string,
): Promise<Pick<StuckMessage, 'kind' | 'queue' | 'behind'>> {
  return act(pool, acts.dropOutbox, [id, messageId, because], undefined, 'onceward outbox')
}
