import type { Reach } from '../../../crash-points.ts'
import { inTransaction, setLocal } from '../in-transaction.ts'
import type { SqlPool } from '../pool.ts'
import type { MarkerDay } from './marker-tables.ts'

/**
 * Scanning a large day takes long but blocks no consumer; the functions bound every lock wait themselves.
 * Once they have returned, inserts of markers wait for the commit, but not for a process that freezes before
 * it.
 */
const settings = `set transaction isolation level read committed; ${setLocal({ statement_timeout: '10min', idle_in_transaction_session_timeout: '2s' })}`

export type DropAnswer =
  | { readonly did: 'dropped'; readonly removed: number }
  | { readonly did: 'nothing' | 'stays' | 'waits' | 'seal' }

export async function dropDay(
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

/** Days for which too many markers are outside of days already; null when the lock was not available. */
export function makeDays(pool: SqlPool, consumerId: number, reach: Reach): Promise<readonly string[] | null> {
  return unlessHeld(() =>
    inTransaction(pool, async client => {
      await client.query(settings)
      const { rows } = await client.query('select onceward.make_days($1) as answer', [consumerId])
      if (rows[0].answer.made.length > 0) reach('days.made')
      return rows[0].answer.stays as readonly string[]
    }),
  )
}

/** Null when the lock was not available within the lock timeout. */
async function unlessHeld<T>(work: () => Promise<T>): Promise<T | null> {
  try {
    return await work()
  } catch (error) {
    if ((error as { code?: string }).code === '55P03') return null
    throw error
  }
}
