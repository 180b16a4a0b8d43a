import type { SqlPool } from '../../../drivers/postgres/pool.ts'
import type { Log } from '../../../environment.ts'

/** Counts no further than what makes no difference any more. */
const countOrphans = `
  select target, count(*)::integer as count from (
    select target from onceward.ledger
    where consumer_name = $1 and target <> all ($2::text[])
      and state in ('pending', 'in flight', 'retryable', 'unknown') and due_at < 'infinity' limit 100000
  ) orphans group by target order by target`

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
  const { rows } = await pool.query(countOrphans, [consumer, targets])
  for (const { target, count } of rows)
    log.error(
      'external effects wait for a target that the contract does not declare; nobody calls it: declare it again until they are done',
      { consumer, target, count },
    )
}
