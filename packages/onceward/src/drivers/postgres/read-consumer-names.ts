import type { SqlPool } from './pool.ts'

/** In the order of their names. */
export async function readConsumerNames(pool: SqlPool): Promise<readonly string[]> {
  const { rows } = await pool.query('select distinct name from onceward.consumer order by name limit 1000')
  return rows.map(row => String(row.name))
}
