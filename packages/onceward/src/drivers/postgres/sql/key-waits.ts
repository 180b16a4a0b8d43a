import type { SqlClient } from '../pool.ts'

/**
 * True where messages wait for the business key, which is usually none: one look at an empty index. Limited,
 * so that it is never a join.
 */
export const isAwaited = (key: string) => `(
    select true from onceward.held w where w.consumer_id = $1 and w.business_key = ${key} and w.business_key is not null and w.keyless
    order by w.id limit 1)`

const end = 'select onceward.end_key_waits($1, $2::text[], $3::text[])'

export interface EndedKey {
  readonly key: string
  /** The message that held it. */
  readonly holder: string
}

/**
 * After the statement that ends the holders, and in another one: it sees what was stored to wait while that
 * one waited for a marker. A key that was given back goes to the first message that waits; of one that is
 * used up all waiting messages are let go.
 */
export async function endKeyWaits(
  client: SqlClient,
  consumerId: number,
  ended: readonly EndedKey[],
): Promise<void> {
  if (ended.length === 0) return
  await client.query(end, [consumerId, ended.map(({ key }) => key), ended.map(({ holder }) => holder)])
}
