import type { Consumer } from '../../contract/define-consumer.ts'
import type { CampaignMode } from '../../contract/handler.ts'
import type { LogRange } from '../../drivers/log/range-reader.ts'
import { listCampaignRows, readCampaignRow } from '../../drivers/postgres/campaign/campaigns.ts'
import type { SqlClient } from '../../drivers/postgres/pool.ts'
import { OncewardError } from '../../errors.ts'
import type { ArchivePlan } from '../archive/archive-plan.ts'
import type { Selection } from './selection.ts'

export { campaignModes } from '../../contract/words.ts'

/**
 * One replay, as the database has it:
 *
 *   created ─▶ previewed ─(approved)─▶ running ─▶ ran ─▶ verified ─▶ finished
 *                                       │  ▲               └─ swapped ─┘   (rebuild; rolled back it is cancelled)
 *                                       ▼  │
 *                               paused, failed          cancelled: from everywhere but finished
 */
export type CampaignState =
  | 'created'
  | 'previewed'
  | 'running'
  | 'paused'
  | 'failed'
  | 'ran'
  | 'verified'
  | 'swapped'
  | 'finished'
  | 'cancelled'

/** What a campaign covers, fixed at its preview. */
export interface CampaignPlan {
  readonly ranges: readonly LogRange[]
  /** What the places of the ranges count. */
  readonly unit: 'offsets' | 'bytes' | 'rows'
  /** Time of the oldest record, since 1970; null where records carry none. */
  readonly oldestMs: number | null
  /** Repair: only messages with one of these as id, order key, aggregate id or business key. */
  readonly keys: readonly string[] | null
  /**
   * Of what is parked: the digest of exactly these rows, and how many wait behind them without being
   * selected.
   */
  readonly parked?: { readonly digest: string; readonly behind: number }
  /** Of an archive: exactly which bytes of which files, and what of them is not read. */
  readonly archive?: ArchivePlan
  /** Rebuild: the tables it makes anew, as `schema.table`. */
  readonly tables?: readonly string[]
  /** Rebuild: how far it follows the live log by now. */
  readonly catchUp?: readonly LogRange[]
}

export interface Campaign {
  readonly id: string
  readonly consumer: string
  readonly generation: number
  readonly liveGeneration: number
  readonly risk: string
  readonly mode: CampaignMode
  readonly effects: 'suppressed' | 'requested'
  readonly state: CampaignState
  readonly selection: Selection
  readonly plan: CampaignPlan | null
  readonly planDigest: string | null
  readonly needsApproval: boolean
  readonly approvedBy: string | null
  readonly approvalExpiresAt: Date | null
  readonly rateMax: number | null
  readonly reason: string
  readonly requestedBy: string
  readonly requestedAt: Date
  readonly holder: string | null
  /** Somebody runs it at this moment, as far as its lease says. */
  readonly held: boolean
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  readonly failure: string | null
}

export async function readCampaign(client: SqlClient, id: string): Promise<Campaign> {
  const row = await readCampaignRow(client, id)
  if (row === null) throw refused(`There is no campaign ${id}.`)
  return row as Campaign
}

/** The newest first. */
export async function listCampaigns(
  client: SqlClient,
  wanted: { readonly consumer?: string | undefined; readonly open: boolean; readonly countMax: number },
): Promise<readonly Campaign[]> {
  return (await listCampaignRows(client, wanted)) as readonly Campaign[]
}

/**
 * What handlers ask for outside the database is not done, only written down. The contract of today has the
 * last word.
 */
export function suppressesEffects(
  { effects }: Pick<Campaign, 'effects'>,
  { replay }: Pick<Consumer, 'replay'>,
): boolean {
  return effects === 'suppressed' || replay.effects === 'never'
}

export function refused(why: string): OncewardError {
  return new OncewardError('usage', `${why} Nothing was changed; see "onceward replay list".`)
}

/** The ranges it is to cover by now. */
export function rangesOf({ plan }: Campaign): readonly LogRange[] {
  return plan?.catchUp ?? plan?.ranges ?? []
}
