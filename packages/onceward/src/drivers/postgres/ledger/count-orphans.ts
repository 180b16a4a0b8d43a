import type { SqlPool } from '../pool.ts'

/** Stops counting at 100,000 rows. */
const count = `
  select target, count(*)::integer as count from (
    select target from onceward.ledger
    where consumer_name = $1 and target <> all ($2::text[])
      and state in ('pending', 'in flight', 'retryable', 'unknown') and due_at < 'infinity' limit 100000
  ) orphans group by target order by target`

/** Counts open intents of targets other than these. */
export async function countOrphans(
  pool: SqlPool,
  consumerName: string,
  targets: readonly string[],
): Promise<readonly { readonly target: string; readonly count: number }[]> {
  return (await pool.query(count, [consumerName, targets])).rows
}
