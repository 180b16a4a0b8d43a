import type { Reach } from '../../crash-points.ts'
import { inTransaction, setLocal } from '../../drivers/postgres/in-transaction.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import type { Cutoff } from './cutoffs.ts'
import { type MarkerDay, readDays } from './marker-tables.ts'

export interface DroppedDays {
  readonly removed: number
  /** Parts that are to be walked through: the rest, and days of which too much must stay. */
  readonly walked: readonly Cutoff[]
  /** What was put off to the next pass; null when nothing was. */
  readonly putOff: string | null
  readonly ended: 'told to stop' | 'another process is at it' | null
}

/**
 * A large day is looked through for long, with nobody waiting; what is waited for is bounded by the functions
 * themselves. Once they have answered, claims wait for our commit, and not for a process that freezes before
 * it.
 */
const settings = `set transaction isolation level read committed; ${setLocal({ statement_timeout: '10min', idle_in_transaction_session_timeout: '2s' })}`

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
  const stays = await makeDays(pool, consumerId, reach)
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

type DropAnswer =
  | { readonly did: 'dropped'; readonly removed: number }
  | { readonly did: 'nothing' | 'stays' | 'waits' | 'seal' }

async function dropDay(
  pool: SqlPool,
  consumerId: number,
  { day }: MarkerDay,
  cutoff: string,
  reach: Reach,
): Promise<DropAnswer> {
  const values = [consumerId, day, cutoff]
  const drop = () =>
    inTransaction(pool, async client => {
      await client.query(settings)
      const { rows } = await client.query(
        'select onceward.drop_day($1, $2::date, $3::timestamptz) as answer',
        values,
      )
      const answer = rows[0].answer as DropAnswer
      if (answer.did === 'dropped') reach('days.dropped')
      return answer
    })
  const answer = await unlessHeld(async () => {
    const first = await drop()
    if (first.did !== 'seal') return first
    await pool.query('select onceward.seal_day($1, $2::date, $3::timestamptz)', values)
    reach('days.sealed')
    return drop()
  })
  if (answer?.did === 'dropped') reach('days.gone')
  return answer ?? { did: 'waits' }
}

/** Why days ahead were not made; null when all are there. Until they are, their markers lie in the rest. */
async function makeDays(pool: SqlPool, consumerId: number, reach: Reach): Promise<string | null> {
  const answer = await unlessHeld(() =>
    inTransaction(pool, async client => {
      await client.query(settings)
      const { rows } = await client.query('select onceward.make_days($1) as answer', [consumerId])
      if (rows[0].answer.made.length > 0) reach('days.made')
      return rows[0].answer as { readonly stays: readonly string[] }
    }),
  )
  if (answer === null) return "days ahead are held up by somebody's transaction"
  return answer.stays.length === 0 ? null : `too much lies outside of days to make ${answer.stays.join(', ')}`
}

/** Null when a lock was not to be had in the short time it is waited for. */
async function unlessHeld<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work()
  } catch (error) {
    if ((error as { code?: string }).code === '55P03') return null
    throw error
  }
}
