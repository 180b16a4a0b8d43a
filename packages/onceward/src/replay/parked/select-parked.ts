import { describeCampaignRows, selectCampaignRows } from '../../drivers/postgres/campaign/parked-rows.ts'
import { inTransaction } from '../../drivers/postgres/in-transaction.ts'
import type { SqlClient, SqlPool } from '../../drivers/postgres/pool.ts'
import { type Campaign, type CampaignPlan, refused } from '../campaign/campaign.ts'

const rowsMax = 1_000_000

/**
 * Records exactly which rows a campaign covers, as they are now. A second call replaces the list. When `keep`
 * returns false, nothing is stored.
 */
export async function selectParked(
  pool: SqlPool,
  { id }: Campaign,
  keep: (client: SqlClient, plan: CampaignPlan) => Promise<boolean>,
): Promise<CampaignPlan> {
  return inTransaction(pool, async client => {
    const rowCount = await selectCampaignRows(client, id, rowsMax + 1)
    if (rowCount === 0) throw refused('No parked message matches the selection.')
    if (rowCount > rowsMax)
      throw refused(`More than ${rowsMax} rows are selected: select fewer, by cause or by key.`)
    const { digest, oldestMs, behind } = await describeCampaignRows(client, id)
    const plan: CampaignPlan = {
      ranges: [{ partition: 'parked', incarnation: digest, from: '0', to: String(rowCount) }],
      unit: 'rows',
      oldestMs,
      keys: null,
      parked: { digest, behind },
    }
    if (!(await keep(client, plan))) await client.query('rollback; begin')
    return plan
  })
}
