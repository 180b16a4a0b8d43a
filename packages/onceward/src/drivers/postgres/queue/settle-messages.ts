import { begin, pipelined } from '../in-transaction.ts'
import { noJit } from '../no-jit.ts'
import type { SqlPool } from '../pool.ts'

/**
 * Deletes settled messages, fenced by the lease: messages that went to another subscription stay. Returns how
 * many it deleted. It does not wait for the disk: a deletion lost in a server crash is a redelivery, which
 * the inbox recognises.
 */
export async function settleMessages(
  pool: SqlPool,
  queueId: number,
  leaseId: string,
  ids: readonly string[],
): Promise<number> {
  const { rowCount } = await pipelined(
    pool,
    `${begin}; set local synchronous_commit = off; set local enable_seqscan = off; ${noJit}`,
    'delete from onceward.queue_message where queue_id = $1 and id = any ($2::bigint[]) and lease_id = $3',
    [queueId, `{${ids.join(',')}}`, leaseId],
  )
  return rowCount ?? 0
}
