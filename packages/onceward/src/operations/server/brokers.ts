import { acts } from '../../drivers/postgres/acts.ts'
import { assertUsable } from '../../drivers/postgres/assert-usable.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { type KnownBroker, readBrokers } from '../../drivers/postgres/server/read-brokers.ts'
import { act } from '../act.ts'

/** The brokers that processes of this database have met. */
export async function listBrokers(pool: SqlPool): Promise<readonly KnownBroker[]> {
  await assertUsable(pool)
  return readBrokers(pool)
}

/** Accepts a broker that is not the one seen before under its address. Audited. */
export async function acceptBroker(
  pool: SqlPool,
  kind: string,
  cluster: string,
  because: string,
): Promise<void> {
  await act(pool, acts.acceptBroker, [kind, cluster, because], undefined, 'onceward brokers')
}
