import { assertUsable } from '../drivers/postgres/assert-usable.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import {
  type HeldFilter,
  type HeldWork,
  readHeldList,
  readHeldRow,
  type StoredWork,
} from '../drivers/postgres/work/read-held.ts'
import { OncewardError } from '../errors.ts'

export type { HeldFilter, HeldWork } from '../drivers/postgres/work/read-held.ts'
export { heldStates } from '../ports/held-record.ts'

export interface HeldDetails extends Omit<StoredWork, 'body'> {
  /** The body as text where it is text, else in base64. */
  readonly body: string
}

/** The oldest first. */
export async function listHeld(pool: SqlPool, filter: HeldFilter): Promise<readonly HeldWork[]> {
  await assertUsable(pool)
  return readHeldList(pool, filter)
}

export async function showHeld(pool: SqlPool, id: string): Promise<HeldDetails> {
  await assertUsable(pool)
  const row = await readHeldRow(pool, id)
  if (row === null)
    throw new OncewardError(
      'usage',
      `There is no held work with number ${id}; it may already be finished. Nothing was changed; see "onceward work list".`,
    )
  return { ...row, body: readable(row.body) }
}

function readable(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  return Buffer.from(text, 'utf8').equals(bytes) ? text : bytes.toString('base64')
}
