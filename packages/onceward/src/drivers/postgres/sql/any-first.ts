import type { Enrolment } from '../../../ports/store.ts'
import type { SqlClient } from '../pool.ts'

/** So few keys are looked up as quickly as it is asked whether there are any. */
const few = 8
/** Batches that look at each key once there was something to see: most likely there still is. */
const closeLooks = 50

/**
 * Whether keys are worth being looked up one by one: while nothing is parked or deferred, one look for any
 * row stands for 500 look-ups. `rows` are those of the consumer $1, in the order of an index: statistics may
 * still know rows that are gone, and a scan for the first of them would read the whole table.
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
