import { inTransaction } from '../../drivers/postgres/in-transaction.ts'
import type { SqlClient, SqlPool } from '../../drivers/postgres/pool.ts'
import { type Campaign, type CampaignPlan, refused } from '../campaign/campaign.ts'

const rowsMax = 1_000_000

const describe = `
  select count(*)::integer as rows, onceward.campaign_rows_digest($1) as digest,
    extract(epoch from min(h.first_at))::float8 * 1000 as "oldestMs",
    (select count(*)::integer from (
      select from onceward.held w where (w.consumer_id, w.order_key) in (
        select x.consumer_id, x.order_key from onceward.campaign_row y join onceward.held x on x.id = y.held_id
        where y.campaign_id = $1 and x.order_key is not null)
      and w.order_key is not null and w.state in ('stored', 'parked') and w.state = 'parked'
      and not exists (select from onceward.campaign_row y where y.campaign_id = $1 and y.held_id = w.id) limit 10000) behind) as behind
  from onceward.campaign_row r join onceward.held h on h.id = r.held_id where r.campaign_id = $1`

/**
 * Writes down exactly which rows a campaign is of, as they are now. Called again it replaces the list. Where
 * `keep` answers false nothing stays.
 */
export async function selectParked(
  pool: SqlPool,
  { id }: Campaign,
  keep: (client: SqlClient, plan: CampaignPlan) => Promise<boolean>,
): Promise<CampaignPlan> {
  return inTransaction(pool, async client => {
    const selected = await client.query('select onceward.select_campaign_rows($1, $2) as count', [
      id,
      rowsMax + 1,
    ])
    const rowCount = selected.rows[0].count as number
    if (rowCount === 0) throw refused('Nothing like this is parked.')
    if (rowCount > rowsMax)
      throw refused(`More than ${rowsMax} rows are selected: select fewer, by cause or by key.`)
    const { rows } = await client.query(describe, [id])
    const { digest, oldestMs, behind } = rows[0]
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
