import type { Consumer } from '../../contract/define-consumer.ts'
import type { SqlClient } from '../../drivers/postgres/pool.ts'
import type { LogRange, RangeReader } from '../../ports/range-reader.ts'
import { type Campaign, rangesOf, refused, suppressesEffects } from './campaign.ts'
import { needsMemory } from './horizon.ts'
import { livePositions } from './live-positions.ts'
import type { RunCampaignOptions } from './run-campaign.ts'
import { waitForLive } from './wait-for-live.ts'

type Asked = Pick<Campaign, 'consumer' | 'liveGeneration' | 'mode' | 'selection' | 'effects'>

/**
 * The ranges that a campaign would apply before the live consumer, with external effects suppressed. The live
 * consumer would find the markers, skip the messages and never request their effects. Empty when no effect
 * can be lost that way.
 */
export async function aheadOfLive(
  client: SqlClient,
  campaign: Asked,
  consumer: Pick<Consumer, 'effect' | 'replay' | 'dedup' | 'settle'>,
  ranges: readonly LogRange[],
  reader: RangeReader | null,
): Promise<readonly LogRange[]> {
  const { selection, mode } = campaign
  if (selection.of !== 'log' || !needsMemory(mode) || !suppressesEffects(campaign, consumer)) return []
  if (!asksOutside(consumer)) return []
  const live = await livePositions(client, campaign, consumer, ranges, reader)
  const ahead = ranges.flatMap(range => {
    const done = live.get(range.partition) ?? range.from
    const from = BigInt(done) > BigInt(range.from) ? done : range.from
    return BigInt(from) < BigInt(range.to) ? [{ ...range, from }] : []
  })
  if (reader === null) return ahead
  const found = await Promise.all(ahead.map(range => hasRecords(reader, range)))
  return ahead.filter((_, index) => found[index])
}

/**
 * A log may end with positions that readers never receive, such as the marker of a transaction. The live
 * consumer does not move past those.
 */
async function hasRecords(
  reader: RangeReader,
  { partition, incarnation, from, to }: LogRange,
): Promise<boolean> {
  const end = BigInt(to)
  for (let next = from; BigInt(next) < end; ) {
    const page = await reader.read(partition, { incarnation, next }).catch(() => null)
    if (page?.kind !== 'records' || page.next === next) return true
    if (page.records.some(({ at }) => BigInt(at) < end)) return true
    next = page.next
  }
  return false
}

/**
 * Refuses a campaign that reaches further than the live consumer has read.
 * Rejected: leaving those messages out. The campaign would end without having covered its approved plan.
 */
export async function assertBehindLive(campaign: Campaign, options: RunCampaignOptions): Promise<void> {
  const { pool, consumer, openReader } = options
  const ranges = rangesOf(campaign)
  if ((await aheadOfLive(pool, campaign, consumer, ranges, null)).length === 0) return
  const reader = await openReader(campaign.selection)
  try {
    const look = () => aheadOfLive(pool, campaign, consumer, ranges, reader)
    const ahead = await waitForLive(campaign, options, {
      look,
      waits: found => found.length > 0,
      text: found => `the live consumer has not read ${placesOf(found)}`,
    })
    if (ahead.length > 0) throw refused(aheadText(ahead))
  } finally {
    await reader.close()
  }
}

export function aheadText(ahead: readonly LogRange[]): string {
  return `The live consumer has not finished ${placesOf(ahead)}. It would skip messages that the campaign applies there, and their external effects and published messages would never be requested. Run the live consumer to the end of the ranges first, or create a campaign with an earlier end.`
}

function placesOf(ahead: readonly LogRange[]): string {
  return ahead.map(({ partition, from, to }) => `${partition} ${from} to ${to}`).join(', ')
}

export function asksOutside({ effect }: Pick<Consumer, 'effect'>): boolean {
  const { external = {}, publish = {} } = effect ?? {}
  return Object.keys(external).length + Object.keys(publish).length > 0
}
