import type { Consumer } from '../../contract/define-consumer.ts'
import {
  type CampaignFilter,
  type CampaignRow,
  listCampaignRows,
  readCampaignRow,
} from '../../drivers/postgres/campaign/campaigns.ts'
import type { SqlClient } from '../../drivers/postgres/pool.ts'
import { OncewardError } from '../../errors.ts'
import type { LogRange } from '../../ports/range-reader.ts'
import type { ArchivePlan } from '../archive/archive-plan.ts'
import type { Selection } from './selection.ts'

export { campaignModes } from '../../contract/words.ts'

/**
 * A campaign's states in the database:
 *
 *   created ─▶ previewed ─(approved)─▶ running ─▶ ran ─▶ verified ─▶ finished
 *                                       │  ▲               └─ swapped ─┘   (only a rebuild)
 *                                       ▼  │
 *                               paused, failed          cancelled: from every state but finished
 *
 * A rebuild that is rolled back after the swap is cancelled.
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

/** The messages that a campaign covers, fixed at its preview. */
export interface CampaignPlan {
  readonly ranges: readonly LogRange[]
  /** The unit of the ranges. */
  readonly unit: 'offsets' | 'bytes' | 'rows'
  /** Time of the oldest record, in milliseconds since 1970; null when records carry none. */
  readonly oldestMs: number | null
  /** Repair: only messages with one of these as id, order key, aggregate id or business key. */
  readonly keys: readonly string[] | null
  /**
   * Parked messages: the digest of exactly these rows, and how many wait behind them without being selected.
   */
  readonly parked?: { readonly digest: string; readonly behind: number }
  /** Archive: which bytes of which files, and which of their rows are not read. */
  readonly archive?: ArchivePlan
  /** Rebuild: the tables that it rebuilds, as `schema.table`. */
  readonly tables?: readonly string[]
  /** Rebuild: how far it has followed the live log. */
  readonly catchUp?: readonly LogRange[]
}

/** A row of the campaigns, with the shapes that this room gives to its JSON columns. */
export interface Campaign extends Omit<CampaignRow, 'state' | 'selection' | 'plan'> {
  readonly state: CampaignState
  readonly selection: Selection
  /** Null until the preview. */
  readonly plan: CampaignPlan | null
}

/** One campaign with its state. */
export async function readCampaign(client: SqlClient, id: string): Promise<Campaign> {
  const row = await readCampaignRow(client, id)
  if (row === null) throw refused(`Campaign ${id} does not exist.`)
  return row as Campaign
}

/** The newest first. */
export async function listCampaigns(client: SqlClient, wanted: CampaignFilter): Promise<readonly Campaign[]> {
  return (await listCampaignRows(client, wanted)) as readonly Campaign[]
}

/**
 * True when external effects and published messages are recorded and not carried out. The contract can forbid
 * them after the campaign was created.
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

/** The ranges to cover, including those of a rebuild that follows the live log. */
export function rangesOf({ plan }: Campaign): readonly LogRange[] {
  return plan?.catchUp ?? plan?.ranges ?? []
}
