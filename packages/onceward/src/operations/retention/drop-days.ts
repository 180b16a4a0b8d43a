import type { Reach } from '../../crash-points.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { dropDay, makeDays } from '../../drivers/postgres/retention/drop-day.ts'
import { readDays } from '../../drivers/postgres/retention/marker-tables.ts'
import type { Cutoff } from '../../drivers/postgres/retention/read-cutoffs.ts'

export interface DroppedDays {
  readonly removed: number
  /** Tables to scan row by row: the rest, and days with too many rows that must stay. */
  readonly walked: readonly Cutoff[]
  /** Work postponed to the next pass, with the reason; null when there is none. */
  readonly putOff: string | null
  readonly ended: 'stopped' | 'another process is removing' | null
}

/**
 * Drops whole days before the cutoff, one transaction each, and creates the days ahead. A day with many rows
 * that must stay, as after a long backlog, is kept for another day. If too many remain then, its rows are
 * removed one by one.
 */
export async function dropDays(
  pool: SqlPool,
  consumerId: number,
  cutoff: Cutoff,
  reach: Reach,
  signal: AbortSignal | undefined,
): Promise<DroppedDays> {
  const putOff: string[] = []
  const stays = await makeAhead(pool, consumerId, reach)
  if (stays !== null) putOff.push(stays)
  const walked = [cutoff]
  let removed = 0
  for (const day of await readDays(pool, consumerId, cutoff.cutoff)) {
    if (!day.isPast) continue
    if (signal?.aborted) return { removed, walked: [], putOff: null, ended: 'stopped' }
    const answer = await dropDay(pool, consumerId, day, cutoff.cutoff, reach)
    if (answer.did === 'nothing')
      return { removed, walked: [], putOff: null, ended: 'another process is removing' }
    if (answer.did === 'dropped') removed += answer.removed
    else if (answer.did === 'waits' || answer.did === 'seal')
      putOff.push(`day ${day.day} is locked by another transaction`)
    else if (day.isLongPast) walked.push({ ...cutoff, table: day.table, blocks: day.blocks })
  }
  return { removed, walked, putOff: putOff.length === 0 ? null : putOff.join('; '), ended: null }
}

/** Why days ahead were not created; null when all exist. Until then their markers are in the rest. */
async function makeAhead(pool: SqlPool, consumerId: number, reach: Reach): Promise<string | null> {
  const stays = await makeDays(pool, consumerId, reach)
  if (stays === null) return 'days ahead are blocked by another transaction'
  return stays.length === 0 ? null : `too many markers are outside of days to create ${stays.join(', ')}`
}
