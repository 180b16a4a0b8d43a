import type { SqlPool } from '../pool.ts'

/** A cluster that feeds this database. */
export interface KnownBroker {
  readonly kind: string
  /** The name at the first connection. */
  readonly cluster: string
  /** Every name that its nodes announced; none for Kafka, whose nodes share one id. */
  readonly announced: readonly string[]
  readonly firstAt: Date
  readonly addedBy: string
  readonly because: string
}

export async function readBrokers(pool: SqlPool): Promise<readonly KnownBroker[]> {
  const { rows } = await pool.query(
    `select b.kind, b.cluster, b.first_at as "firstAt", b.added_by as "addedBy", b.reason as because,
       array(select n.announced from onceward.cluster_name n where n.kind = b.kind and n.cluster = b.cluster order by n.first_at) as announced
     from onceward.broker b order by b.kind, b.first_at`,
  )
  return rows as KnownBroker[]
}
