import type { SqlTransaction } from '../../contract/handler.ts'
import type { ContributionWindow } from './declaration.ts'
import type { Contribution } from './read-fact.ts'
import type { ContributionStatements } from './statements.ts'

/**
 * Finds facts that arrived after their window was closed. Uses event time only, separately for each key. The
 * summary holds the newest time of a key, so a replay decides like the first read and no clock takes part.
 */
export async function lateFacts<M>(
  tx: SqlTransaction,
  facts: readonly Contribution<M>[],
  { sizeMs, everyMs = sizeMs, latenessMs }: ContributionWindow,
  sql: ContributionStatements,
): Promise<ReadonlySet<Contribution<M>>> {
  const { rows } = await tx.query<{ key: string; ms: number }>(sql.newest, [
    [...new Set(facts.map(fact => fact.key))],
  ])
  const newest = new Map(rows.map(({ key, ms }) => [key, ms]))
  const late = new Set<Contribution<M>>()
  for (const fact of facts) {
    const seenMs = newest.get(fact.key) ?? Number.NEGATIVE_INFINITY
    // The first of its windows ends one step after the start of the newest.
    if (fact.windowMs! + everyMs + latenessMs <= seenMs) late.add(fact)
    else newest.set(fact.key, Math.max(seenMs, fact.atMs!))
  }
  return late
}
