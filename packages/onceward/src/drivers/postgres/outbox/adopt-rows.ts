import type { SqlPool } from '../pool.ts'

/** Rows that were written before anything was known of the broker but its kind. */
const adopt = 'select onceward.adopt_outbox($1) as adopted'

/**
 * False where rows of the bare kind are not ours to carry. After true, rows that were read before may stand
 * behind others.
 */
export async function adoptRows(pool: SqlPool, destination: string): Promise<boolean> {
  return (await pool.query(adopt, [destination])).rows[0].adopted !== null
}
