import { acts } from '../../drivers/postgres/acts.ts'
import { assertUsable } from '../../drivers/postgres/migrate.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import {
  checkServer,
  type Exposure,
  type RecordedIncarnation,
  readExposures,
  readIncarnations,
  recordIfAllowed,
  recordIncarnation,
} from '../../drivers/postgres/server/read-incarnations.ts'
import { OncewardError } from '../../errors.ts'
import { act } from '../parking/act.ts'

export interface RestoreView {
  readonly inRecovery: boolean
  /** The life that waits for a person; null when nothing does. */
  readonly open: RecordedIncarnation | null
  readonly incarnations: readonly RecordedIncarnation[]
  readonly exposures: readonly Exposure[]
}

/**
 * Changes nothing, unless this is a life nobody has met yet: then that is written down, so that it can be
 * accepted.
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
 * A person lets consumers go on with this copy. Readers of logs whose broker keeps the position are set back
 * to what the copy knows.
 */
export function acceptServer(
  pool: SqlPool,
  id: number,
  because: string,
): Promise<{ readonly partitionsSetBack: number }> {
  return act(pool, acts.acceptIncarnation, [id, because], undefined, 'onceward restore')
}

/**
 * A person knows of another life that nothing in the database shows: a disk put back. Every consumer halts
 * until it is accepted.
 */
export async function declareServer(pool: SqlPool, because: string): Promise<RestoreView> {
  await assertUsable(pool)
  if (because.trim() === '')
    throw new OncewardError('usage', 'Say why the server counts as another incarnation. Nothing was changed.')
  await recordIncarnation(pool, because)
  return readRestore(pool)
}
