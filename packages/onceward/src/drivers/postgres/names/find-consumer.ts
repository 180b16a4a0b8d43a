import type { SqlPool } from '../pool.ts'

/** The id of the consumer's row; null when it never ran on this database. */
export async function findConsumer(
  pool: Pick<SqlPool, 'query'>,
  name: string,
  generation: number,
): Promise<number | null> {
  const { rows } = await pool.query('select id from onceward.consumer where name = $1 and generation = $2', [
    name,
    generation,
  ])
  return rows[0]?.id ?? null
}
