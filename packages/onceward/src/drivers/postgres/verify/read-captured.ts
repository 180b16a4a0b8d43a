import type { SqlClient } from '../pool.ts'

/** A message that the database holds, with everything that came with it. */
export interface CapturedMessage {
  readonly body: Buffer
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: Readonly<Record<string, unknown>>
  readonly key: string | null
}

/** The newest messages that are held for a consumer, in any state, oldest first. Changes nothing. */
export async function readCaptured(
  client: SqlClient,
  consumer: string,
  countMax: number,
): Promise<readonly CapturedMessage[]> {
  const { rows } = await client.query(
    `select h.body, h.headers, h.properties, h.broker_key as key
     from onceward.held h join onceward.consumer c on c.id = h.consumer_id
     where c.name = $1 order by h.id desc limit $2`,
    [consumer, countMax],
  )
  return rows.reverse()
}
