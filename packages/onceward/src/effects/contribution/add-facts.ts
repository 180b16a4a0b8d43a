import type { SqlTransaction } from '../../contract/handler.ts'
import { rerunBatch } from '../declared/rerun.ts'
import type { Contribution } from './read-fact.ts'
import type { ContributionStatements } from './statements.ts'

/**
 * Facts as the parallel arrays that the statements take. An unused column is null, which `unnest` fills with
 * nulls.
 */
export function arraysOf<M>(facts: readonly Contribution<M>[], withEvidence: boolean): unknown[] {
  const columns = facts[0]?.values.length ?? 0
  return [
    facts.map(fact => fact.eventId),
    facts.map(fact => fact.key),
    numbers(facts, fact => fact.windowMs),
    numbers(facts, fact => fact.atMs),
    withEvidence ? facts.map(fact => fact.item.envelope.id) : null,
    ...Array.from({ length: columns }, (_, n) => numbers(facts, fact => fact.values[n]!)),
  ]
}

/**
 * An array literal: numbers need no quotes, and the driver's own conversion takes two to six times as long.
 */
function numbers<M>(
  facts: readonly Contribution<M>[],
  read: (fact: Contribution<M>) => string | number | null,
): string | null {
  const values = facts.map(read)
  return values[0] === null ? null : `{${values.join()}}`
}

/**
 * Adds facts with distinct ids, sorted by id, and their sums. Insert first: the unique key decides, and waits
 * for a transaction that is inserting the same fact. Returns the ids that were new.
 */
export async function addFacts<M>(
  tx: SqlTransaction,
  facts: readonly Contribution<M>[],
  sql: ContributionStatements,
  withEvidence: boolean,
): Promise<ReadonlySet<string> | 'all'> {
  if (facts.length === 0) return 'all'
  const sorted = facts.toSorted((a, b) => (a.eventId < b.eventId ? -1 : 1))
  const { rows } = await tx.query<{ count: number; ids: string[] | null }>(sql.add, [
    sorted.length,
    ...arraysOf(sorted, withEvidence),
  ])
  return rows[0]!.count === facts.length ? 'all' : new Set(rows[0]!.ids ?? [])
}

/** For facts that were not added: whether the stored fact has the same content. Undefined: none is stored. */
export async function compareFacts<M>(
  tx: SqlTransaction,
  facts: readonly Contribution<M>[],
  sql: ContributionStatements,
): Promise<ReadonlyMap<Contribution<M>, boolean>> {
  if (facts.length === 0) return new Map()
  const { rows } = await tx.query<{ n: number; same: boolean }>(sql.compare, arraysOf(facts, false))
  return new Map(rows.map(({ n, same }) => [facts[n - 1]!, same]))
}

/**
 * The conflicting fact existed a moment ago, so another transaction must have removed it: run the batch
 * again.
 */
export async function assertCompared<M>(
  tx: SqlTransaction,
  fact: Contribution<M>,
  compared: ReadonlyMap<Contribution<M>, boolean>,
): Promise<boolean> {
  return compared.get(fact) ?? (await rerunBatch(tx, 'a fact vanished while it was compared'))
}
