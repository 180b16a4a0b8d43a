import type { Enrolment } from '../../../ports/enrolment.ts'
import type { SqlClient } from '../pool.ts'

/** So few keys are looked up as fast as one query finds out whether any row exists. */
const few = 8
/** Number of batches that look up each key after a row was found: most likely there still is one. */
const closeLooks = 50

/**
 * Whether keys need to be looked up one by one. While no row is parked or deferred, one query for any row
 * replaces 500 look-ups. `rows` are those of consumer $1, in the order of an index: statistics may still
 * contain removed rows, and a scan for the first of them would read the whole table.
 */
export function anyFirst(rows: string): (client: SqlClient, by: Enrolment, keys: number) => Promise<boolean> {
  const text = `select exists (select from (${rows} limit 1) one) as any`
  const left = new WeakMap<Enrolment, number>()
  return async (client, by, keys) => {
    if (keys <= few) return true
    const looks = left.get(by) ?? 0
    if (looks > 0) {
      left.set(by, looks - 1)
      return true
    }
    const { any } = (await client.query(text, [by.consumerId])).rows[0]
    if (any) left.set(by, closeLooks)
    return any
  }
}
