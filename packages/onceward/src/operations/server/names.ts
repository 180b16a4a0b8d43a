import { acts } from '../../drivers/postgres/acts.ts'
import { assertUsable } from '../../drivers/postgres/assert-usable.ts'
import { type KnownReader, readReaders } from '../../drivers/postgres/names/read-readers.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { act } from '../act.ts'

/** The processes that read the source of a consumer. */
export async function listReaders(pool: SqlPool): Promise<readonly KnownReader[]> {
  await assertUsable(pool)
  return readReaders(pool)
}

/** Moves everything recorded under a name to another name. None of the consumer's processes may run. */
export function renameConsumer(
  pool: SqlPool,
  from: string,
  to: string,
  because: string,
): Promise<{ readonly ledgerRows: number }> {
  return act(pool, acts.renameConsumer, [from, to, because], undefined, 'onceward consumers list')
}

/** Allows a consumer with its own markers to read the source of another one. */
export async function separateConsumer(
  pool: SqlPool,
  name: string,
  from: string,
  because: string,
): Promise<void> {
  await act(pool, acts.separateReader, [name, from, because], undefined, 'onceward consumers list')
}
