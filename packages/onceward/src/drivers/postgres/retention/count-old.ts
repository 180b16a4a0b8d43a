import type { SqlPool } from '../pool.ts'
import type { RetentionKind } from './kinds.ts'

const countIn = (table: string, { mine, since, finished }: RetentionKind) => `
  select count(*)::float8 as count from ${table} t where ${mine} and ${since} < $2::timestamptz and ${finished}`

/** Finished rows of the consumer in this table that are older than the cutoff. */
export async function countOld(
  pool: SqlPool,
  table: string,
  kind: RetentionKind,
  consumerId: number,
  cutoff: string,
): Promise<number> {
  return (await pool.query(countIn(table, kind), [consumerId, cutoff])).rows[0].count
}
