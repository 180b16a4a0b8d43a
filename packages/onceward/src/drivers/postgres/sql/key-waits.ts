import type { SqlClient } from '../pool.ts'

/**
 * True if messages wait for the business key, usually none: one probe of an empty index. The limit keeps the
 * planner from a join.
 */
export const isAwaited = (key: string) => `(
    select true from onceward.held w where w.consumer_id = $1 and w.business_key = ${key} and w.business_key is not null and w.keyless
    order by w.id limit 1)`

const end = 'select onceward.end_key_waits($1, $2::text[], $3::text[])'

export interface EndedKey {
  readonly key: string
  /** The message that held the key. */
  readonly holder: string
}

/**
 * Called in a statement after the one that ends the holders: it sees messages that were stored to wait while
 * that statement waited for a marker. A key that was given back goes to the first message that waits; a key
 * that is used up releases all waiting messages.
 */
export async function endKeyWaits(
  client: SqlClient,
  consumerId: number,
  ended: readonly EndedKey[],
): Promise<void> {
  if (ended.length === 0) return
  await client.query(end, [consumerId, ended.map(({ key }) => key), ended.map(({ holder }) => holder)])
}
