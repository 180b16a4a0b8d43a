import { assertUsable } from '../../drivers/postgres/assert-usable.ts'
import { type HeldFix, readFixes } from '../../drivers/postgres/parking/read-fixes.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { diffBodies } from './diff-bodies.ts'
import type { DiffLine } from './diff-lines.ts'
import { shownBytesMax } from './show-parked.ts'

/** A fix of a held message with what it changed. */
export interface RecordedFix extends Omit<HeldFix, 'before' | 'after'> {
  /** Null for a fix made elsewhere, and when the bodies are not text or too long to compare. */
  readonly diff: readonly DiffLine[] | null
}

/** Oldest first. */
export async function listFixes(pool: SqlPool, heldId: string): Promise<readonly RecordedFix[]> {
  await assertUsable(pool)
  const rows = await readFixes(pool, heldId, { bytesMax: shownBytesMax, countMax: 50 })
  return rows.map(({ before, after, ...fix }) => ({
    ...fix,
    diff: before === null || after === null ? null : diffBodies(before, after),
  }))
}
