import { countOrphans } from '../../drivers/postgres/ledger/count-orphans.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { Log } from '../../environment.ts'

/**
 * Intents of a target that was renamed or taken out of the contract are nobody's: no dispatcher asks for
 * them, so it is said at start.
 */
export async function reportOrphans(
  pool: SqlPool,
  consumer: string,
  targets: readonly string[],
  log: Log,
): Promise<void> {
  for (const { target, count } of await countOrphans(pool, consumer, targets))
    log.error(
      'external effects wait for a target that the contract does not declare; nobody calls it: declare it again until they are done',
      { consumer, target, count },
    )
}
