import { acts } from '../../drivers/postgres/acts.ts'
import {
  type CampaignEventRow,
  type CampaignFinding,
  readCampaignEvents,
  readCampaignFindings,
} from '../../drivers/postgres/campaign/read-findings.ts'
import type { SqlClient, SqlPool } from '../../drivers/postgres/pool.ts'
import { OncewardError } from '../../errors.ts'
import { act } from '../../operations/act.ts'
import { dropCancelled, dropShadow } from '../rebuild/shadow-tables.ts'
import { type Campaign, readCampaign } from './campaign.ts'
import { type CampaignProgress, readProgress } from './campaign-progress.ts'

const lister = 'onceward replay list'

export interface CampaignApproval {
  readonly because: string
  /** The digest of the reviewed plan, as the preview showed it. */
  readonly planDigest: string
  /** Default 24. */
  readonly hours?: number
}

/** The approver is the database's session user: a registered person other than the requester. */
export async function approveCampaign(
  pool: SqlPool,
  id: string,
  { because, planDigest, hours = 24 }: CampaignApproval,
): Promise<Campaign> {
  await readCampaign(pool, id)
  await act(pool, acts.approveCampaign, [id, planDigest, because, hours], undefined, lister)
  return readCampaign(pool, id)
}

/** Asks the running process, which finishes its open transactions first. */
export async function pauseCampaign(pool: SqlPool, id: string, because: string): Promise<Campaign> {
  await steer(pool, await readCampaign(pool, id), 'pause', because)
  return readCampaign(pool, id)
}

/**
 * Final. Applied messages stay applied. A running process is asked to stop; a crashed one is not waited for.
 */
export async function cancelCampaign(pool: SqlPool, id: string, because: string): Promise<Campaign> {
  const before = await readCampaign(pool, id)
  const { state } = await steer<{ state: string }>(pool, before, 'cancel', because)
  const left = state === 'cancelled' ? await dropCancelled(pool, before) : null
  if (left !== null) throw new OncewardError('usage', left)
  return readCampaign(pool, id)
}

/** The database checks, audits, and answers the second of two racing operators. */
function steer<T>(
  pool: SqlPool,
  { id, consumer }: Campaign,
  how: 'pause' | 'cancel' | 'verify' | 'finish',
  because: string | null = null,
  beforeCommit?: (client: SqlClient) => Promise<void>,
): Promise<T> {
  return act(pool, acts.steerCampaign, [id, consumer, how, because], beforeCommit, lister)
}

export interface Verification {
  readonly progress: CampaignProgress
  /** Messages of this campaign that wait for an operator or for a worker. */
  readonly held: number
  readonly complete: boolean
}

/**
 * Checks that every range was read to its end, and counts the outcomes. An operator reviews the findings
 * before finishing.
 */
export async function verifyCampaign(pool: SqlPool, id: string): Promise<Verification> {
  const campaign = await readCampaign(pool, id)
  const { complete, held } = await steer<{ complete: boolean; held: number }>(pool, campaign, 'verify')
  return { progress: await readProgress(pool, id), held, complete }
}

/**
 * Finishes and drops the old tables in one transaction: no later step would remove tables that were left.
 * Keys that awaited a rebuild and were repaired leave the list.
 */
export async function finishCampaign(pool: SqlPool, id: string): Promise<Campaign> {
  const campaign = await readCampaign(pool, id)
  await steer(pool, campaign, 'finish', null, async client => {
    if (campaign.mode === 'rebuild') await dropShadow(client, campaign)
  })
  return readCampaign(pool, id)
}

/** Events of the campaign and their actors, oldest first. */
export function campaignHistory(pool: SqlPool, id: string): Promise<readonly CampaignEventRow[]> {
  return readCampaignEvents(pool, id)
}

export type { CampaignFinding }

/** What speaks against a campaign: facts that a person must know before an approval. */
export function campaignFindings(
  pool: SqlPool,
  id: string,
  countMax: number,
): Promise<readonly CampaignFinding[]> {
  return readCampaignFindings(pool, id, countMax)
}

export function assertTyped(campaign: Campaign, typed: string): void {
  if (campaign.consumer === typed) return
  throw new OncewardError(
    'usage',
    `Campaign ${campaign.id} does not belong to consumer "${typed}". Nothing was changed; see "onceward replay show ${campaign.id}".`,
  )
}
