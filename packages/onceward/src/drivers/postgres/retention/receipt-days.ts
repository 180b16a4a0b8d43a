import type { Reach } from '../../../crash-points.ts'
import { inTransaction, setLocal } from '../in-transaction.ts'
import type { SqlPool } from '../pool.ts'
import type { RetentionKind } from './kinds.ts'
import type { RowArchive } from './purge-batch.ts'

/** Creates the tables of the next days. False when a lock was not available: the next call continues. */
export async function makeReceiptDays(pool: Pick<SqlPool, 'query'>): Promise<boolean> {
  try {
    await pool.query('select onceward.make_receipt_days()')
    return true
  } catch (error) {
    if ((error as { code?: string }).code === '55P03') return false
    throw error
  }
}

/** Days before the cutoff with receipts of the consumer, oldest first, by a loose scan of the index. */
const days = `
  with recursive day (at) as (
    (select date_trunc('day', r.at, 'UTC') from onceward.receipt r where r.consumer_id = $1 order by r.at limit 1)
    union all
    select date_trunc('day', next.at, 'UTC') from day cross join lateral (
      select r.at from onceward.receipt r where r.consumer_id = $1 and r.at >= day.at + interval '1 day' order by r.at limit 1) next
    where day.at + interval '2 days' <= $2::timestamptz)
  select to_char(at at time zone 'UTC', 'YYYY-MM-DD') as day from day where at + interval '1 day' <= $2::timestamptz order by at`

export async function readReceiptDays(
  pool: Pick<SqlPool, 'query'>,
  consumerId: number,
  cutoff: string,
): Promise<readonly string[]> {
  return (await pool.query(days, [consumerId, cutoff])).rows.map(row => row.day as string)
}

export interface ReceiptDay {
  readonly kind: RetentionKind
  readonly consumerId: number
  readonly day: string
  readonly cutoff: string
}

/** A row may have the payloads of a whole batch. */
const fetchedRows = 10

const ofDay = ({ kind }: ReceiptDay) => `
  declare receipts no scroll cursor for
  select ${kind.archived.join(', ')} from ${kind.table} t where consumer_id = $1
    and at >= $2::timestamp at time zone 'UTC' and at < ($2::date + 1)::timestamp at time zone 'UTC' order by at`

const settings = setLocal({ statement_timeout: '10min', idle_in_transaction_session_timeout: '60s' })

/** Writes the receipts of a day to the archive; their number of rows. */
export function archiveReceiptDay(pool: SqlPool, day: ReceiptDay, archive: RowArchive): Promise<number> {
  return inTransaction(pool, async client => {
    await client.query(settings)
    await client.query(ofDay(day), [day.consumerId, day.day])
    for (let count = 0; ; ) {
      const { rows } = await client.query(`fetch ${fetchedRows} from receipts`)
      await archive.write(rows)
      count += rows.length
      if (rows.length < fetchedRows) return count
    }
  })
}

export type RemovedReceipts =
  | { readonly did: 'removed'; readonly removed: number }
  | { readonly did: 'nothing' }
  | { readonly did: 'waits' }

/** `archived`: the rows in the archive; null when the contract deletes. */
export async function removeReceiptDay(
  pool: SqlPool,
  { consumerId, day, cutoff }: ReceiptDay,
  archived: number | null,
  reach: Reach,
): Promise<RemovedReceipts> {
  try {
    return await inTransaction(pool, async client => {
      await client.query(`set transaction isolation level read committed; ${settings}`)
      const { rows } = await client.query(
        'select onceward.remove_receipts($1, $2::date, $3::timestamptz, $4) as answer',
        [consumerId, day, cutoff, archived],
      )
      if (rows[0].answer.did === 'removed') reach('receipts.removed')
      return rows[0].answer as RemovedReceipts
    })
  } catch (error) {
    if ((error as { code?: string }).code === '55P03') return { did: 'waits' }
    throw error
  }
}
