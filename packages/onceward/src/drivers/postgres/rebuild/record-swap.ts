import type { SqlClient } from '../pool.ts'

/** `compared`: how the tables compared, and what was accepted. */
export async function recordSwap(client: SqlClient, campaignId: string, compared: unknown): Promise<void> {
  await client.query(
    `update onceward.campaign set state = 'swapped', swapped_at = clock_timestamp(), compared = $2 where id = $1`,
    [campaignId, JSON.stringify(compared)],
  )
}

export async function recordRollback(client: SqlClient, campaignId: string): Promise<void> {
  await client.query(`update onceward.campaign set state = 'cancelled' where id = $1`, [campaignId])
}
