import { countOrphans } from '../../drivers/postgres/ledger/count-orphans.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { Log } from '../../environment.ts'

/**
 * No dispatcher leases the intents of a target that was renamed or removed from the contract. The error at
 * start reports them.
 */
export async function reportOrphans(
  pool: SqlPool,
  consumer: string,
  targets: readonly string[],
  log: Log,
): Promise<void> {
  for (const { target, count } of await countOrphans(pool, consumer, targets))
    log.error(
      'external effects wait for a target that the contract does not declare; declare it again until they are done',
      { consumer, target, count },
    )
}
