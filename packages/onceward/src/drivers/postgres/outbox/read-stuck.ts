import type { SqlPool } from '../pool.ts'

/** A message that its broker refused at the last attempt; of each key the first one. */
export interface StuckMessage {
  /** Row id. */
  readonly id: string
  /**
   * A retry copy is the only copy of its message. The message of a dead letter is also in the parking lot.
   */
  readonly kind: 'message' | 'retry copy' | 'dead letter'
  readonly destination: string
  readonly exchange: string | null
  readonly queue: string
  readonly messageId: string
  readonly key: string | null
  readonly bodyBytes: number
  readonly failures: number
  readonly error: string | null
  /** Later messages of its key and queue that wait behind it. */
  readonly behind: number
  readonly writtenAt: Date
}

/** The messages that block the most others come first. */
export async function readStuck(pool: SqlPool, limit: number): Promise<readonly StuckMessage[]> {
  const { rows } = await pool.query(
    `select id, kind, destination, exchange, queue, message_id as "messageId", key, body_bytes as "bodyBytes", failures, last_error as error,
       behind, created_at as "writtenAt"
     from onceward.outbox_stuck order by behind desc, outbox_stuck.id limit $1`,
    [limit],
  )
  return rows as StuckMessage[]
}
