import type { SqlPool } from '../pool.ts'
import { expiredSql, type RetentionKind, type TenantTerms, tenancyValues } from './kinds.ts'

const countIn = (table: string, kind: RetentionKind, tenancy: TenantTerms | undefined) => `
  select count(*)::float8 as count from ${table} t where ${kind.mine} and ${expiredSql(kind, 2, tenancy)} and ${kind.finished}`

/** Finished rows of the consumer in this table that are older than the cutoff. */
export async function countOld(
  pool: SqlPool,
  table: string,
  kind: RetentionKind,
  consumerId: number,
  cutoff: string,
  tenancy: TenantTerms | undefined,
): Promise<number> {
  const values = [consumerId, cutoff, ...tenancyValues(tenancy)]
  return (await pool.query(countIn(table, kind, tenancy), values)).rows[0].count
}
