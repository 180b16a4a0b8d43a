import { acts } from '../drivers/postgres/acts.ts'
import { assertUsable } from '../drivers/postgres/assert-usable.ts'
import { type DeclaredLoss, readDeclaredLosses } from '../drivers/postgres/losses/read-losses.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import { act } from './act.ts'

/** Declared losses: ranges that a source no longer has. */
export async function readLosses(pool: SqlPool): Promise<readonly DeclaredLoss[]> {
  await assertUsable(pool)
  return readDeclaredLosses(pool)
}

export interface Acceptance {
  readonly id: number
  /** Consumer name, as confirmation: a mistyped id cannot accept another consumer's loss. */
  readonly consumer: string
  readonly because: string
  /** Digest of the loss that the operator saw. Default: its digest at the time of the call. */
  readonly seen?: string | undefined
}

/**
 * Accepts a loss under the login of the database session: at its next start the consumer continues after the
 * lost records. Changes one open loss that is as it was shown, or nothing.
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
