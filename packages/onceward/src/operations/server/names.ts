import { assertUsable } from '../../drivers/postgres/migrate.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { act } from '../parking/act.ts'

/** Who reads what, under which name. */
export interface KnownReading {
  readonly consumer: string
  readonly kind: string
  readonly place: string
  readonly reader: string
  /** Null where it was noted by a version that did not know it. */
  readonly virtualHost: string | null
  readonly lastAt: Date
}

export async function listReadings(pool: SqlPool): Promise<readonly KnownReading[]> {
  await assertUsable(pool)
  const { rows } = await pool.query(
    'select consumer_name as consumer, kind, source as place, consumer_group as reader, virtual_host as "virtualHost", last_at as "lastAt" from onceward.reader order by 1, 2, 3, 4, 5',
  )
  return rows as KnownReading[]
}

/** Everything a consumer remembers, under another name. None of its processes may run. */
export function renameConsumer(
  pool: SqlPool,
  from: string,
  to: string,
  because: string,
): Promise<{ readonly ledgerRows: number }> {
  return act(
    pool,
    'onceward.rename_consumer($1, $2, $3)',
    [from, to, because],
    undefined,
    'onceward consumers list',
  )
}

/** A consumer that reads what another reads, with a memory of its own. */
export async function separateConsumer(
  pool: SqlPool,
  name: string,
  from: string,
  because: string,
): Promise<void> {
  await act(
    pool,
    'onceward.separate_reader($1, $2, $3)',
    [name, from, because],
    undefined,
    'onceward consumers list',
  )
}
