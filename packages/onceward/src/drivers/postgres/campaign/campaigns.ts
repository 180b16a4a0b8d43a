import type { CampaignMode } from '../../../contract/handler.ts'
import type { SqlClient } from '../pool.ts'

/** A row of `onceward.campaign`; the shape of `selection` and `plan` is the caller's. */
export interface CampaignRow {
  readonly id: string
  readonly consumer: string
  readonly generation: number
  readonly liveGeneration: number
  readonly risk: string
  readonly mode: CampaignMode
  readonly effects: 'suppressed' | 'requested'
  readonly state: string
  readonly selection: unknown
  readonly plan: unknown
  readonly planDigest: string | null
  readonly needsApproval: boolean
  readonly approvedBy: string | null
  readonly approvalExpiresAt: Date | null
  readonly rateMax: number | null
  readonly reason: string
  readonly requestedBy: string
  readonly requestedAt: Date
  readonly holder: string | null
  /** A process runs it, according to its lease. */
  readonly held: boolean
  /** When that process leased it; null while no process has it. */
  readonly leasedAt: Date | null
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  readonly failure: string | null
}

const columns = `c.id::text, c.consumer_name as consumer, c.generation, c.live_generation as "liveGeneration", c.risk, c.mode, c.effects,
  c.state, c.selection, c.plan, encode(c.plan_digest, 'hex') as "planDigest", c.needs_approval as "needsApproval",
  a.approved_by as "approvedBy", a.expires_at as "approvalExpiresAt", c.rate_max as "rateMax", c.reason,
  c.requested_by as "requestedBy", c.requested_at as "requestedAt", c.holder,
  coalesce(c.state = 'running' and c.lease_until between clock_timestamp() and clock_timestamp() + interval '150 seconds', false) as held,
  c.leased_at as "leasedAt", c.started_at as "startedAt", c.ended_at as "endedAt", c.failure`

const tables = `onceward.campaign c left join lateral (
  select approved_by, expires_at from onceward.campaign_approval
  where campaign_id = c.id and plan_digest = c.plan_digest order by expires_at desc limit 1) a on true`

export async function readCampaignRow(client: SqlClient, id: string): Promise<CampaignRow | null> {
  const { rows } = await client.query(`select ${columns} from ${tables} where c.id = $1`, [id])
  return rows[0] ?? null
}

/** Which campaigns to list. */
export interface CampaignFilter {
  readonly consumer?: string | undefined
  /** Only of these consumers. */
  readonly consumers?: readonly string[] | undefined
  readonly open: boolean
  readonly countMax: number
}

/** The newest first. */
export async function listCampaignRows(
  client: SqlClient,
  { consumer, consumers, open, countMax }: CampaignFilter,
): Promise<readonly CampaignRow[]> {
  const { rows } = await client.query(
    `select ${columns} from ${tables}
     where ($1::text is null or c.consumer_name = $1) and (not $2 or c.state not in ('finished', 'cancelled'))
       and ($4::text[] is null or c.consumer_name = any ($4))
     order by c.id desc limit $3`,
    [consumer ?? null, open, countMax, consumers ?? null],
  )
  return rows
}
