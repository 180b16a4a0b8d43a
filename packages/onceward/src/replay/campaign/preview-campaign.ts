import type { Consumer } from '../../contract/define-consumer.ts'
import { durationText } from '../../contract/duration.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import { acts } from '../../drivers/postgres/acts.ts'
import { inTransaction } from '../../drivers/postgres/in-transaction.ts'
import type { SqlClient, SqlPool } from '../../drivers/postgres/pool.ts'
import { OncewardError } from '../../errors.ts'
import { callAct } from '../../operations/act.ts'
import type { Edges, LogRange, RangeReader } from '../../ports/range-reader.ts'
import { namesOf } from '../archive/names-of.ts'
import { planArchive } from '../archive/plan-archive.ts'
import { selectParked } from '../parked/select-parked.ts'
import { shadowedTables } from '../rebuild/shadowed-tables.ts'
import { aheadOfLive } from './ahead-of-live.ts'
import { assertOfConsumer } from './assert-of-consumer.ts'
import { type Campaign, type CampaignPlan, readCampaign, refused } from './campaign.ts'
import { countGivenUp, type GivenUp } from './given-up.ts'
import { assertRemembered } from './horizon.ts'
import type { Selection } from './selection.ts'
import { countUnknownToLive } from './unknown-to-live.ts'

export interface PreviewOptions {
  readonly consumer: Consumer<unknown, SqlTransaction>
  readonly openReader: (selection: Selection) => Promise<RangeReader>
  /** Computes the plan and stores nothing. */
  readonly dryRun?: boolean
}

/** What a campaign would do, before it is started. */
export interface CampaignPreview {
  readonly campaign: Campaign
  readonly plan: CampaignPlan
  /** Places in all ranges: an upper bound of the records, since a log may skip offsets. */
  readonly extent: number
  /**
   * Ranges that the live consumer has not finished. The campaign is refused while it would suppress their
   * external effects.
   */
  readonly aheadOfLive: readonly LogRange[]
  /**
   * Messages of a file without a marker of the live consumer. The campaign is refused while it would suppress
   * their external effects.
   */
  readonly unknownToLive: number
  readonly givenUp: GivenUp
  readonly targets: { readonly external: readonly string[]; readonly publish: readonly string[] }
}

/**
 * Determines what the selection covers now, and fixes it. Reads only the first record of each range.
 * Exceptions: an archive, and a file whose messages may still reach the live consumer, are read completely.
 */
export async function previewCampaign(
  pool: SqlPool,
  id: string,
  options: PreviewOptions,
): Promise<CampaignPreview> {
  const campaign = await readCampaign(pool, id)
  const { consumer, dryRun = false } = options
  assertOfConsumer(campaign, consumer)
  if (campaign.state !== 'created' && campaign.state !== 'previewed')
    throw refused(`Campaign ${id} is ${campaign.state}: its plan is fixed.`)
  const { selection } = campaign
  const keep = async (client: SqlClient, plan: CampaignPlan) => {
    if (!dryRun) await keepPlan(client, id, plan)
    return !dryRun
  }
  const plan =
    selection.of === 'parked'
      ? await selectParked(pool, campaign, keep)
      : await makePlan(pool, campaign, options)
  if (selection.of !== 'parked') {
    await assertWindow(pool, consumer, plan)
    await assertRemembered(pool, campaign, plan)
    await inTransaction(pool, client => keep(client, plan))
  }
  const effect = consumer.effect ?? {}
  return {
    campaign: await readCampaign(pool, id),
    plan,
    extent: extentOf(plan.ranges),
    aheadOfLive: await beforeLive(pool, campaign, plan, options),
    unknownToLive: await countUnknownToLive(pool, campaign, consumer, plan.ranges, options.openReader),
    givenUp: await countGivenUp(pool, campaign),
    targets: { external: Object.keys(effect.external ?? {}), publish: Object.keys(effect.publish ?? {}) },
  }
}

async function beforeLive(
  pool: SqlPool,
  campaign: Campaign,
  { ranges }: CampaignPlan,
  { consumer, openReader }: PreviewOptions,
): Promise<readonly LogRange[]> {
  if ((await aheadOfLive(pool, campaign, consumer, ranges, null)).length === 0) return []
  const reader = await openReader(campaign.selection)
  return aheadOfLive(pool, campaign, consumer, ranges, reader).finally(() => reader.close())
}

async function keepPlan(client: SqlClient, id: string, plan: CampaignPlan): Promise<void> {
  const answer = await callAct(client, acts.planCampaign, [id, JSON.stringify(plan)])
  if (!answer.ok) throw refused(answer.why)
}

async function makePlan(pool: SqlPool, campaign: Campaign, options: PreviewOptions): Promise<CampaignPlan> {
  const { selection, mode } = campaign
  const plan =
    selection.of === 'archive'
      ? await planArchive(await namesOf(pool, campaign.consumer), campaign, selection, options.consumer)
      : await planRanges(selection, options)
  return mode === 'rebuild' ? { ...plan, tables: await shadowedTables(pool, options.consumer) } : plan
}

async function planRanges(
  selection: Selection,
  { openReader, consumer }: PreviewOptions,
): Promise<CampaignPlan> {
  const reader = await openReader(selection)
  try {
    const ranges = (await reader.survey(edgesOf(selection))).filter(({ from, to }) => from !== to)
    if (ranges.length === 0) throw refused('The selection covers no records.')
    const times = await Promise.all(ranges.map(range => oldestIn(reader, range)))
    return {
      ranges,
      unit: selection.of === 'held' ? 'rows' : isFiles(selection, consumer) ? 'bytes' : 'offsets',
      oldestMs: times.includes(null) ? null : Math.min(...(times as number[])),
      keys: selection.keys ?? null,
    }
  } finally {
    await reader.close()
  }
}

export function edgesOf(selection: Selection): Edges {
  return selection.of === 'log' ? selection : { start: 'first', end: 'next' }
}

function isFiles({ of }: Selection, { source }: Consumer<unknown, SqlTransaction>): boolean {
  return of === 'file' || source.kind === 'file'
}

async function oldestIn(
  reader: RangeReader,
  { partition, incarnation, from }: LogRange,
): Promise<number | null> {
  const page = await reader.read(partition, { incarnation, next: from })
  return page.kind === 'records' ? (page.records[0]?.properties.timestampMs ?? null) : null
}

export function extentOf(ranges: readonly LogRange[]): number {
  return ranges.reduce((sum, { from, to }) => sum + Number(BigInt(to) - BigInt(from)), 0)
}

/** By the database's clock, which dates markers. */
async function assertWindow(
  client: SqlClient,
  { name, replay }: Consumer<unknown, SqlTransaction>,
  { oldestMs }: CampaignPlan,
): Promise<void> {
  if (replay.windowMs === null || oldestMs === null) return
  const { rows } = await client.query(
    'select extract(epoch from clock_timestamp())::float8 * 1000 - $1::float8 as "ageMs"',
    [oldestMs],
  )
  const { ageMs } = rows[0] as { ageMs: number }
  if (ageMs <= replay.windowMs) return
  throw new OncewardError(
    'usage',
    `The selection begins ${durationText(ageMs)} ago, and the contract of ${name} declares a replay window of ${durationText(replay.windowMs)}. Nothing was changed. Begin later, or ask the owner to widen replay.window together with the retention.`,
  )
}
