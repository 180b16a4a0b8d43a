import type { SqlClient } from '../pool.ts'

/** One message at one consumer. */
export interface MessageOfConsumer {
  readonly consumerId: number
  readonly messageId: string
}

export interface Marker {
  readonly status: string
  readonly at: Date
  readonly arrivedAt: Date | null
  readonly because: string | null
  readonly position: string | null
  readonly digest: string
  readonly runId: number
}

const read = `
  select status::text, at, arrived_at as "arrivedAt", reason as because, position, encode(digest, 'hex') as digest, run_id as "runId"
  from onceward.inbox where consumer_id = $1 and message_id = $2`

export async function readMarker(
  client: SqlClient,
  { consumerId, messageId }: MessageOfConsumer,
): Promise<Marker | null> {
  const { rows } = await client.query(read, [consumerId, messageId])
  return rows[0] ?? null
}
