import type { SqlClient } from '../pool.ts'

interface PlanAnswer {
  readonly ok: boolean
  readonly why: string
}

/** Not an act of its own: a preview plans inside its transaction. */
export async function callPlanCampaign(client: SqlClient, id: string, plan: unknown): Promise<PlanAnswer> {
  const { rows } = await client.query('select onceward.plan_campaign($1, $2) as answer', [
    id,
    JSON.stringify(plan),
  ])
  return rows[0].answer
}

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
