import type { SqlPool } from '../pool.ts'

export interface ReleaseAnswer {
  readonly ok: boolean
  /** Why it was refused. */
  readonly why: string
  readonly released: number
  readonly from: string
}

/** Without `leases`, the row is released however often it was leased. */
export async function callReleaseHeld(
  pool: SqlPool,
  consumer: string,
  id: string,
  leases: number | null,
  because: string,
): Promise<ReleaseAnswer> {
  const { rows } = await pool.query(
    `select onceward.release_held($1, $2, coalesce($3, (select epoch from onceward.held where id = $2)), $4) as answer`,
    [consumer, id, leases, because],
  )
  return rows[0].answer
}
