import { readRenames } from '../../drivers/postgres/names/renames.ts'
import type { SqlClient } from '../../drivers/postgres/pool.ts'

/** A name that a consumer had, and when, by the database's clock. Archives are named by both. */
export interface NameTerm {
  readonly name: string
  /** Before this the name was somebody else's. */
  readonly fromMs: number
  readonly toMs: number
}

/**
 * The names of the consumer that has this one now, the newest first. A name that it gave up is another's from
 * then on.
 */
export async function namesOf(client: SqlClient, name: string): Promise<readonly NameTerm[]> {
  const terms: NameTerm[] = []
  let current = name
  let toMs = Number.POSITIVE_INFINITY
  for (const { from, to, atMs } of await readRenames(client)) {
    if (to === current) {
      terms.push({ name: current, fromMs: atMs, toMs })
      current = from
      toMs = atMs
    } else if (from === current) return [...terms, { name: current, fromMs: atMs, toMs }]
  }
  return [...terms, { name: current, fromMs: Number.NEGATIVE_INFINITY, toMs }]
}
