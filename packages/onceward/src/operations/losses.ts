import { acts } from '../drivers/postgres/acts.ts'
import { type DeclaredLoss, readDeclaredLosses } from '../drivers/postgres/losses/read-losses.ts'
import { assertUsable } from '../drivers/postgres/migrate.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import { act } from './parking/act.ts'

export async function readLosses(pool: SqlPool): Promise<readonly DeclaredLoss[]> {
  await assertUsable(pool)
  return readDeclaredLosses(pool)
}

export interface Acceptance {
  readonly id: number
  /** Typed again by the person, so that no slip accepts another consumer's loss. */
  readonly consumer: string
  readonly because: string
  /** The digest of the loss as the person saw it. Default: as it is when this is called. */
  readonly seen?: string | undefined
}

/**
 * A person takes the loss upon them, under the login of the database session: at its next start the consumer
 * goes on behind the gap. Changes one open loss, as it was shown, or nothing.
 */
export async function acceptLoss(
  pool: SqlPool,
  { id, consumer, because, seen }: Acceptance,
): Promise<DeclaredLoss> {
  const find = async () => (await readLosses(pool)).find(loss => loss.id === id)
  const values = [id, consumer, seen ?? (await find())?.digest ?? '', because]
  await act(pool, acts.acceptLoss, values, undefined, 'onceward losses')
  return (await find())!
}
