import { assertUsable } from '../../drivers/postgres/migrate.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { act } from '../parking/act.ts'

/** A cluster that feeds this database. */
export interface KnownBroker {
  readonly kind: string
  /** The name it was first reached under. */
  readonly cluster: string
  /** Every name that its nodes announced; none for Kafka, whose id is the same on each. */
  readonly announced: readonly string[]
  readonly firstAt: Date
  readonly addedBy: string
  readonly because: string
}

export async function listBrokers(pool: SqlPool): Promise<readonly KnownBroker[]> {
  await assertUsable(pool)
  const { rows } = await pool.query(
    `select b.kind, b.cluster, b.first_at as "firstAt", b.added_by as "addedBy", b.reason as because,
       array(select n.announced from onceward.cluster_name n where n.kind = b.kind and n.cluster = b.cluster order by n.first_at) as announced
     from onceward.broker b order by b.kind, b.first_at`,
  )
  return rows as KnownBroker[]
}

export async function acceptBroker(
  pool: SqlPool,
  kind: string,
  cluster: string,
  because: string,
): Promise<void> {
  await act(
    pool,
    'onceward.accept_broker($1, $2, $3)',
    [kind, cluster, because],
    undefined,
    'onceward brokers',
  )
}
