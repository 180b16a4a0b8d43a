import type { SqlClient } from '../pool.ts'

const about = `c.id::text, c.mode, c.reason, c.requested_by as actor`

const findings = `
  select ${about}, f.at, f.outcome, f.code, f.reason as said
  from onceward.campaign c cross join lateral (
    select * from onceward.campaign_finding f where f.campaign_id = c.id and f.message_id = $2 limit 1) f
  where c.consumer_name = $1`

interface OfCampaign {
  readonly id: string
  readonly mode: string
  /** Why the campaign was requested. */
  readonly reason: string
  readonly actor: string
  readonly at: Date
}

export interface FindingRow extends OfCampaign {
  readonly outcome: string
  readonly code: string
  readonly said: string
}

interface NamedMessage {
  readonly consumer: string
  readonly messageId: string
}

export async function readFindingsOf(
  client: SqlClient,
  { consumer, messageId }: NamedMessage,
): Promise<readonly FindingRow[]> {
  return (await client.query(findings, [consumer, messageId])).rows
}

const suppressed = `
  select ${about}, w.at, w.kind, w.target, w.key
  from onceward.suppressed_effect w join onceward.campaign c on c.id = w.campaign_id
  where w.message_id = $2 and c.consumer_name = $1 limit 200`

export interface SuppressedRow extends OfCampaign {
  readonly kind: string
  readonly target: string
  readonly key: string
}

export async function readSuppressedOf(
  client: SqlClient,
  { consumer, messageId }: NamedMessage,
): Promise<readonly SuppressedRow[]> {
  return (await client.query(suppressed, [consumer, messageId])).rows
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
