import type { Reach } from '../../crash-points.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { dropDay, makeDays } from '../../drivers/postgres/retention/drop-day.ts'
import { readDays } from '../../drivers/postgres/retention/marker-tables.ts'
import type { Cutoff } from '../../drivers/postgres/retention/read-cutoffs.ts'

export interface DroppedDays {
  readonly removed: number
  /** Parts that are to be walked through: the rest, and days of which too much must stay. */
  readonly walked: readonly Cutoff[]
  /** What was put off to the next pass; null when nothing was. */
  readonly putOff: string | null
  readonly ended: 'told to stop' | 'another process is at it' | null
}

/**
 * Drops the days that are behind the cutoff as a whole, one transaction each, and makes those ahead. A day
 * with many rows that must stay, as after a long backlog, is left alone for another day; by then most of them
 * may go with it, and what is then still too much is walked through.
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
    if (signal?.aborted) return { removed, walked: [], putOff: null, ended: 'told to stop' }
    const answer = await dropDay(pool, consumerId, day, cutoff.cutoff, reach)
    if (answer.did === 'nothing')
      return { removed, walked: [], putOff: null, ended: 'another process is at it' }
    if (answer.did === 'dropped') removed += answer.removed
    else if (answer.did === 'waits' || answer.did === 'seal')
      putOff.push(`day ${day.day} is held by somebody's transaction`)
    else if (day.isLongPast) walked.push({ ...cutoff, table: day.table, blocks: day.blocks })
  }
  return { removed, walked, putOff: putOff.length === 0 ? null : putOff.join('; '), ended: null }
}

/** Why days ahead were not made; null when all are there. Until they are, their markers lie in the rest. */
async function makeAhead(pool: SqlPool, consumerId: number, reach: Reach): Promise<string | null> {
  const stays = await makeDays(pool, consumerId, reach)
  if (stays === null) return "days ahead are held up by somebody's transaction"
  return stays.length === 0 ? null : `too much lies outside of days to make ${stays.join(', ')}`
}
