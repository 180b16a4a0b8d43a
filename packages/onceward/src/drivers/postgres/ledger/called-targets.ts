import type { SqlPool } from '../pool.ts'

/** A target that messages of a consumer have called. */
export interface CalledTarget {
  readonly target: string
  readonly type: string | null
  /** Of the newest 10,000 effects of all consumers. */
  readonly calls: number
}

/** Read from the newest effects: a ledger of years would be read whole otherwise. */
export async function readCalledTargets(pool: SqlPool, consumer: string): Promise<readonly CalledTarget[]> {
  const { rows } = await pool.query(
    `select target, effect_type as type, count(*)::int as calls
     from (select target, effect_type, consumer_name from onceward.ledger order by id desc limit 10000) as newest
     where consumer_name = $1 group by target, effect_type order by calls desc, target limit 20`,
    [consumer],
  )
  return rows
}
