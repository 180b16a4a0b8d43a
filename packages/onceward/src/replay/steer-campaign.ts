import { OncewardError } from '../errors.ts'
import { inTransaction } from '../stores/postgres/in-transaction.ts'
import { assertUsable } from '../stores/postgres/migrate.ts'
import type { SqlPool } from '../stores/postgres/pool.ts'
import { type Campaign, readCampaign, refused } from './campaign.ts'
import { isComplete } from './campaign-lease.ts'
import { type CampaignProgress, readProgress } from './campaign-progress.ts'
import { dropShadow } from './rebuild/shadow-tables.ts'

export interface Approval {
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
  { because, planDigest, hours = 24 }: Approval,
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
export async function pauseCampaign(pool: SqlPool, id: string): Promise<Campaign> {
  await assertUsable(pool)
  const { state } = await readCampaign(pool, id)
  const { rowCount } = await pool.query(
    `update onceward.campaign set wanted = 'pause' where id = $1 and state = 'running' and wanted is null`,
    [id],
  )
  if (rowCount === 0) throw refused(`Campaign ${id} is ${state}, and only what runs can pause.`)
  return readCampaign(pool, id)
}

/** For good. What was applied stays applied. A process that runs it is asked; one that died is not waited for. */
export async function cancelCampaign(pool: SqlPool, id: string): Promise<Campaign> {
  await assertUsable(pool)
  const before = await readCampaign(pool, id)
  if (before.state === 'swapped')
    throw refused(
      `Campaign ${id} is swapped: finish it, or put the old tables back with "onceward replay rollback".`,
    )
  const { rows } = await pool
    .query(
      `update onceward.campaign set
         wanted = case when state = 'running' and lease_until > clock_timestamp() then 'cancel' end,
         state = case when state = 'running' and lease_until > clock_timestamp() then state else 'cancelled' end,
         ended_at = clock_timestamp()
       where id = $1 and state <> 'swapped' returning state`,
      [id],
    )
    .catch(error => {
      throw (error as { code?: string }).code === '23514'
        ? refused(`Campaign ${id} is ${before.state}.`)
        : error
    })
  if (rows[0]?.state === 'cancelled' && before.mode === 'rebuild') await dropShadow(pool, id)
  return readCampaign(pool, id)
}

export interface Verification {
  readonly progress: CampaignProgress
  /** Messages of this campaign that wait for people or for their turn. */
  readonly held: number
  readonly complete: boolean
}

/** Whether every range was read to its end, and what came of it. People look at the findings before they finish. */
export async function verifyCampaign(pool: SqlPool, id: string): Promise<Verification> {
  await assertUsable(pool)
  const { state, mode } = await readCampaign(pool, id)
  if (state !== 'ran' && state !== 'verified')
    throw refused(`Campaign ${id} is ${state}: it is verified when it has run to its end.`)
  const { rows } = await pool.query(
    `select ${isComplete} as complete, (select count(*)::integer from onceward.held h join onceward.run r on r.id = h.run_id
       where h.campaign_id = c.id or r.campaign_id = c.id) as held from onceward.campaign c where id = $1`,
    [id],
  )
  const { complete, held } = rows[0] as { complete: boolean; held: number }
  const isSound = complete && !(mode === 'rebuild' && held > 0)
  if (isSound && state === 'ran')
    await pool.query(`update onceward.campaign set state = 'verified' where id = $1 and state = 'ran'`, [id])
  return { progress: await readProgress(pool, id), held, complete }
}

/** The end, whole or not at all: old tables that outlived it nobody would remove. Keys that were to be rebuilt and were repaired are off the list. */
export async function finishCampaign(pool: SqlPool, id: string): Promise<Campaign> {
  await assertUsable(pool)
  const { state, mode } = await readCampaign(pool, id)
  const ready = mode === 'rebuild' ? 'swapped' : 'verified'
  if (state !== ready) throw refused(`Campaign ${id} is ${state}, and it is finished once it is ${ready}.`)
  await inTransaction(pool, async client => {
    if (mode === 'repair') await client.query(forgetRepaired, [id])
    const { rowCount } = await client.query(
      `update onceward.campaign set state = 'finished' where id = $1 and state = $2`,
      [id, ready],
    )
    if (rowCount === 0) throw refused(`Campaign ${id} is not ${ready} any more.`)
    if (mode === 'rebuild') await dropShadow(client, id)
  })
  return readCampaign(pool, id)
}

/** Not those of which a message found its gap still open. */
const forgetRepaired = `
  delete from onceward.rebuild_key k using onceward.campaign c join onceward.consumer o
    on o.name = c.consumer_name and o.generation = c.generation
  where c.id = $1 and k.consumer_id = o.id and k.since < c.started_at and c.selection -> 'keys' ? k.key
    and not exists (select from onceward.campaign_finding f where f.campaign_id = c.id and f.code = 'rebuild' and f.key = k.key)`

/** What happened to it and who did it, oldest first. */
export async function campaignHistory(
  pool: SqlPool,
  id: string,
): Promise<
  readonly { readonly at: Date; readonly actor: string; readonly did: string; readonly detail: string }[]
> {
  const { rows } = await pool.query(
    'select at, actor, did, detail from onceward.campaign_event where campaign_id = $1 order by id',
    [id],
  )
  return rows
}

export interface Finding {
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
): Promise<readonly Finding[]> {
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
