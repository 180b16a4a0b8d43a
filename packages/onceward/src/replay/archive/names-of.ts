import { readRenames } from '../../drivers/postgres/names/renames.ts'
import type { SqlClient } from '../../drivers/postgres/pool.ts'

/** A name of a consumer and its period, by the database's clock. Archive file names contain both. */
export interface NameTerm {
  readonly name: string
  /** Before this, another consumer had the name. */
  readonly fromMs: number
  readonly toMs: number
}

/**
 * All names of the consumer that has this name now, newest first. After a rename, another consumer may use
 * the old name.
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
