import type { SqlPool } from '../pool.ts'

/** Adopts rows that were written when only the kind of broker was known. */
const adopt = 'select onceward.adopt_outbox($1) as adopted'

/**
 * False when the rows that name only the kind do not belong to this destination. After true, rows that were
 * read earlier may come after adopted ones.
 */
export async function adoptRows(pool: SqlPool, destination: string): Promise<boolean> {
  return (await pool.query(adopt, [destination])).rows[0].adopted !== null
}
