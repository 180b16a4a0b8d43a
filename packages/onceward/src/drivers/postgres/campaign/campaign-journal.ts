import type { SqlClient } from '../pool.ts'
import type { CampaignFinding } from './read-findings.ts'

/** Adds findings while the campaign has fewer than `countMax`. */
export async function writeFindings(
  client: SqlClient,
  campaignId: string,
  findings: readonly CampaignFinding[],
  countMax: number,
): Promise<void> {
  await client.query(
    `insert into onceward.campaign_finding (campaign_id, message_id, outcome, code, key, position, reason)
     select $1, m.* from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
       as m (message_id, outcome, code, key, position, reason)
     order by 2 limit greatest(0, $8 - (select count(*) from onceward.campaign_finding where campaign_id = $1))
     on conflict do nothing`,
    [
      campaignId,
      findings.map(one => one.messageId),
      findings.map(one => one.outcome),
      findings.map(one => one.code),
      findings.map(one => one.key),
      findings.map(one => one.position),
      findings.map(one => one.reason),
      countMax,
    ],
  )
}

export async function addOutcomes(
  client: SqlClient,
  campaignId: string,
  counts: ReadonlyMap<string, number>,
): Promise<void> {
  await client.query(
    `insert into onceward.campaign_outcome as o (campaign_id, outcome, count)
     select $1, m.* from unnest($2::text[], $3::bigint[]) as m (outcome, count) order by 2
     on conflict (campaign_id, outcome) do update set count = o.count + excluded.count`,
    [campaignId, [...counts.keys()], [...counts.values()]],
  )
}

export interface CampaignCounts {
  /** By partition, the position. */
  readonly places: Readonly<Record<string, string | null>>
  readonly outcomes: Readonly<Record<string, number>>
  readonly findings: number
  readonly suppressedEffects: number
  readonly secondsRun: number
}

export async function readCampaignCounts(client: SqlClient, id: string): Promise<CampaignCounts> {
  const { rows } = await client.query(
    `select
       (select coalesce(jsonb_object_agg(partition, next), '{}') from onceward.campaign_partition where campaign_id = $1) as places,
       (select coalesce(jsonb_object_agg(outcome, count), '{}') from onceward.campaign_outcome where campaign_id = $1) as outcomes,
       (select count(*)::integer from onceward.campaign_finding where campaign_id = $1) as findings,
       (select count(*)::integer from onceward.suppressed_effect where campaign_id = $1) as "suppressedEffects",
       (select coalesce(extract(epoch from coalesce(ended_at, clock_timestamp()) - started_at), 0)::float8 from onceward.campaign
        where id = $1) as "secondsRun"`,
    [id],
  )
  return rows[0]
}
