import type { SqlClient } from '../drivers/postgres/pool.ts'
import type { Event, Subject } from './explanation.ts'

const about = `c.id::text, c.mode, c.reason, c.requested_by as actor`

const findings = `
  select ${about}, f.at, f.outcome, f.code, f.reason as said
  from onceward.campaign c cross join lateral (
    select * from onceward.campaign_finding f where f.campaign_id = c.id and f.message_id = $2 limit 1) f
  where c.consumer_name = $1`

const suppressed = `
  select ${about}, w.at, w.kind, w.target, w.key
  from onceward.suppressed_effect w join onceward.campaign c on c.id = w.campaign_id
  where w.message_id = $2 and c.consumer_name = $1 limit 200`

/** What campaigns found of the message, and what they did not let it ask for. */
export async function readCampaigns(
  client: SqlClient,
  { consumer, messageId }: Subject,
): Promise<readonly Event[]> {
  const values = [consumer, messageId]
  const [found, held] = await Promise.all([client.query(findings, values), client.query(suppressed, values)])
  return [
    ...found.rows.map(row => ({
      at: row.at,
      what: `campaign ${row.id} (${row.mode})`,
      by: row.actor,
      text: `${[row.outcome, row.code, row.said].filter(part => part !== '').join(': ')}; asked for because: ${row.reason}`,
      facts: { campaign: row.id, mode: row.mode, outcome: row.outcome },
    })),
    ...held.rows.map(row => ({
      at: row.at,
      what: `campaign ${row.id} (${row.mode})`,
      by: row.actor,
      text: `suppressed ${row.kind === 'publish' ? 'a message' : 'a call'} to ${row.target}/${row.key}`,
      facts: { campaign: row.id, mode: row.mode, suppressed: row.kind, target: row.target, key: row.key },
    })),
  ]
}

export interface RunFacts {
  readonly id: number
  readonly consumerId: number
  readonly instance: string
  readonly handlerVersion: string
  readonly mode: string
  readonly campaignId: string | null
  readonly campaignReason: string | null
  readonly campaignBy: string | null
}

const runs = `
  select r.id, r.consumer_id as "consumerId", r.instance, r.handler_version as "handlerVersion", r.mode, r.campaign_id::text as "campaignId",
    c.reason as "campaignReason", c.requested_by as "campaignBy"
  from onceward.run r left join onceward.campaign c on c.id = r.campaign_id where r.id = any($1::integer[])`

export async function readRuns(
  client: SqlClient,
  ids: readonly number[],
): Promise<ReadonlyMap<number, RunFacts>> {
  const { rows } = await client.query(runs, [ids])
  return new Map((rows as RunFacts[]).map(row => [row.id, row]))
}
