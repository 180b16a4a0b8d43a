import type { SqlClient } from '../pool.ts'

export interface CampaignEventRow {
  readonly at: Date
  readonly actor: string
  readonly did: string
  readonly detail: string
}

/** Oldest first. */
export async function readCampaignEvents(
  client: SqlClient,
  id: string,
): Promise<readonly CampaignEventRow[]> {
  const { rows } = await client.query(
    'select at, actor, action as did, detail from onceward.campaign_event where campaign_id = $1 order by id',
    [id],
  )
  return rows
}

export interface CampaignFinding {
  readonly messageId: string
  readonly outcome: string
  readonly code: string
  readonly key: string | null
  readonly position: string | null
  readonly reason: string
}

export async function readCampaignFindings(
  client: SqlClient,
  id: string,
  countMax: number,
): Promise<readonly CampaignFinding[]> {
  const { rows } = await client.query(
    `select message_id as "messageId", outcome, code, key, position, reason from onceward.campaign_finding
     where campaign_id = $1 order by message_id limit $2`,
    [id, countMax],
  )
  return rows
}
