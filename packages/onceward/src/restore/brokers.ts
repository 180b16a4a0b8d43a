import { act } from '../parking/act.ts'
import { assertUsable } from '../stores/postgres/migrate.ts'
import type { SqlPool } from '../stores/postgres/pool.ts'

/** A cluster that feeds this database. */
export interface KnownBroker {
  readonly kind: string
  readonly cluster: string
  readonly firstAt: Date
  readonly addedBy: string
  readonly because: string
}

export async function listBrokers(pool: SqlPool): Promise<readonly KnownBroker[]> {
  await assertUsable(pool)
  const { rows } = await pool.query(
    'select kind, cluster, first_at as "firstAt", added_by as "addedBy", because from onceward.broker order by kind, first_at',
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
