import { acts } from '../../drivers/postgres/acts.ts'
import { assertUsable } from '../../drivers/postgres/assert-usable.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import {
  checkServer,
  type Exposure,
  type RecordedIncarnation,
  readExposures,
  readIncarnations,
  recordIfAllowed,
} from '../../drivers/postgres/server/read-incarnations.ts'
import { OncewardError } from '../../errors.ts'
import { act } from '../act.ts'

/** The incarnations of this database, and what a restore may have exposed. */
export interface RestoreView {
  readonly inRecovery: boolean
  /** The incarnation that needs acceptance; null when there is none. */
  readonly open: RecordedIncarnation | null
  readonly incarnations: readonly RecordedIncarnation[]
  readonly exposures: readonly Exposure[]
}

/**
 * Changes nothing, except that it records an incarnation that no process has detected yet, so that an
 * operator can accept it.
 */
export async function readRestore(pool: SqlPool): Promise<RestoreView> {
  await assertUsable(pool)
  const { inRecovery, isNew } = await checkServer(pool)
  if (isNew && !inRecovery) await recordIfAllowed(pool)
  const incarnations = await readIncarnations(pool)
  const open = incarnations.find(one => one.acceptedAt === null) ?? null
  return { inRecovery, open, incarnations, exposures: await readExposures(pool) }
}

/**
 * Lets consumers continue with this copy. Readers of logs whose broker keeps the position are set back to the
 * positions of the copy.
 */
export function acceptServer(
  pool: SqlPool,
  id: number,
  because: string,
): Promise<{ readonly partitionsSetBack: number }> {
  return act(pool, acts.acceptIncarnation, [id, because], undefined, 'onceward restore')
}

/**
 * Declares an incarnation that nothing in the database shows, such as a restored disk. Every consumer halts
 * until it is accepted.
 */
export async function declareServer(pool: SqlPool, because: string): Promise<RestoreView> {
  if (because.trim() === '')
    throw new OncewardError('usage', 'Say why the server counts as another incarnation. Nothing was changed.')
  await act(pool, acts.declareIncarnation, [because], undefined, 'onceward restore')
  return readRestore(pool)
}
