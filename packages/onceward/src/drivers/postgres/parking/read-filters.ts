import { inTransaction } from '../in-transaction.ts'
import type { SqlPool } from '../pool.ts'

/** A search that a person saved. */
export interface SavedFilter {
  readonly name: string
  readonly query: string
  readonly at: Date
}

/** In a transaction, because a console names its user for one transaction. */
export function readFilters(pool: SqlPool): Promise<readonly SavedFilter[]> {
  return inTransaction(pool, async client => {
    const { rows } = await client.query('select name, query, at from onceward.own_filters()')
    return rows
  })
}
