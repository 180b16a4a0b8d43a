import { assertUsable } from '../../drivers/postgres/migrate.ts'
import type { SqlClient, SqlPool } from '../../drivers/postgres/pool.ts'
import { OncewardError } from '../../errors.ts'
import { act } from '../../operations/parking/act.ts'
import { dropCancelled, dropShadow } from '../rebuild/shadow-tables.ts'
import { type Campaign, readCampaign, refused } from './campaign.ts'
import { type CampaignProgress, readProgress } from './campaign-progress.ts'

export interface CampaignApproval {
  readonly because: string
  /** The digest of the plan that was looked at, as the preview showed it. */
  readonly planDigest: string
  /** Default 24. */
  readonly hours?: number
}

/** Who approves is the database's session user: a person, and not the one who asked. */
export async function approveCampaign(
  pool: SqlPool,
  id: string,
  { because, planDigest, hours = 24 }: CampaignApproval,
): Promise<Campaign> {
  await assertUsable(pool)
  await readCampaign(pool, id)
  const { rows } = await pool.query(
    `select onceward.approve_campaign($1, decode($2, 'hex'), $3, $4) as answer`,
    [id, planDigest, because, hours],
  )
  const { ok, why } = rows[0].answer as { ok: boolean; why: string }
  if (!ok) throw refused(why)
  return readCampaign(pool, id)
}

/** Asks the process that runs it; it finishes what is in a transaction first. */
export async function pauseCampaign(pool: SqlPool, id: string, because: string): Promise<Campaign> {
  await steer(pool, await readCampaign(pool, id), 'pause', because)
  return readCampaign(pool, id)
}

/**
 * For good. What was applied stays applied. A process that runs it is asked; one that died is not waited for.
 */
export async function cancelCampaign(pool: SqlPool, id: string, because: string): Promise<Campaign> {
  const before = await readCampaign(pool, id)
  const { state } = await steer<{ state: string }>(pool, before, 'cancel', because)
  const left = state === 'cancelled' ? await dropCancelled(pool, before) : null
  if (left !== null) throw new OncewardError('usage', left)
  return readCampaign(pool, id)
}

/** The rules are the database's; so are the audit and the answer to whoever comes second. */
function steer<T>(
  pool: SqlPool,
  { id, consumer }: Campaign,
  how: 'pause' | 'cancel' | 'verify' | 'finish',
  because: string | null = null,
  beforeCommit?: (client: SqlClient) => Promise<void>,
): Promise<T> {
  const call = 'onceward.steer_campaign($1, $2, $3, $4)'
  return act(pool, call, [id, consumer, how, because], beforeCommit, 'onceward replay list')
}

export interface Verification {
  readonly progress: CampaignProgress
  /** Messages of this campaign that wait for people or for their turn. */
  readonly held: number
  readonly complete: boolean
}

/**
 * Whether every range was read to its end, and what came of it. People look at the findings before they
 * finish.
 */
export async function verifyCampaign(pool: SqlPool, id: string): Promise<Verification> {
  const campaign = await readCampaign(pool, id)
  const { complete, held } = await steer<{ complete: boolean; held: number }>(pool, campaign, 'verify')
  return { progress: await readProgress(pool, id), held, complete }
}

/**
 * The end, whole or not at all: old tables that outlived it nobody would remove. Keys that were to be rebuilt
 * and were repaired are off the list.
 */
export async function finishCampaign(pool: SqlPool, id: string): Promise<Campaign> {
  const campaign = await readCampaign(pool, id)
  await steer(pool, campaign, 'finish', null, async client => {
    if (campaign.mode === 'rebuild') await dropShadow(client, campaign)
  })
  return readCampaign(pool, id)
}

/** What happened to it and who did it, oldest first. */
export async function campaignHistory(
  pool: SqlPool,
  id: string,
): Promise<
  readonly { readonly at: Date; readonly actor: string; readonly did: string; readonly detail: string }[]
> {
  const { rows } = await pool.query(
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

export async function campaignFindings(
  pool: SqlPool,
  id: string,
  countMax: number,
): Promise<readonly CampaignFinding[]> {
  const { rows } = await pool.query(
    `select message_id as "messageId", outcome, code, key, position, reason from onceward.campaign_finding
     where campaign_id = $1 order by message_id limit $2`,
    [id, countMax],
  )
  return rows
}

export function assertTyped(campaign: Campaign, typed: string): void {
  if (campaign.consumer === typed) return
  throw new OncewardError(
    'usage',
    `Campaign ${campaign.id} is not of consumer "${typed}". Nothing was changed; see "onceward replay show ${campaign.id}".`,
  )
}
