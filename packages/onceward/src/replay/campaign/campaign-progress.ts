import { readCampaignCounts } from '../../drivers/postgres/campaign/campaign-journal.ts'
import type { SqlClient } from '../../drivers/postgres/pool.ts'
import type { Timers } from '../../environment.ts'
import type { LogRange } from '../../ports/range-reader.ts'
import { type Campaign, rangesOf, readCampaign } from './campaign.ts'
import { extentOf } from './preview-campaign.ts'

/** How far a campaign is. */
export interface CampaignProgress {
  readonly campaign: Campaign
  /** Places done, and places in all ranges, in the plan's unit. */
  readonly done: number
  readonly extent: number
  /** Messages by outcome. Exact: counted in the transactions of their effects. */
  readonly outcomes: Readonly<Record<string, number>>
  readonly messages: number
  readonly findings: number
  readonly suppressedEffects: number
  readonly secondsRun: number
  /** At the rate so far. Null before the first message, and when the campaign does not run. */
  readonly secondsLeft: number | null
}

/** How far a campaign is. */
export async function readProgress(client: SqlClient, id: string): Promise<CampaignProgress> {
  const campaign = await readCampaign(client, id)
  const counted = await readCampaignCounts(client, id)
  const { places, outcomes, findings, suppressedEffects, secondsRun } = counted
  const ranges = rangesOf(campaign)
  const extent = extentOf(ranges)
  const done = ranges.reduce((sum, range) => sum + doneOf(range, places[range.partition]), 0)
  const counts = Object.values(outcomes)
  const messages = counts.reduce((sum, count) => sum + count, 0)
  const secondsLeft = campaign.state === 'running' && done > 0 ? ((extent - done) * secondsRun) / done : null
  return { campaign, done, extent, outcomes, messages, findings, suppressedEffects, secondsRun, secondsLeft }
}

function doneOf({ from }: LogRange, next: string | null | undefined): number {
  return next === null || next === undefined ? 0 : Math.max(0, Number(BigInt(next) - BigInt(from)))
}

const reportEveryMs = 1_000

/** Calls back about once a second until the returned function is called. */
export function watchProgress(
  client: SqlClient,
  id: string,
  timers: Pick<Timers, 'after'>,
  onProgress: (progress: CampaignProgress) => void,
): () => void {
  let ended = false
  let cancel = () => {}
  const look = async () => {
    const progress = await readProgress(client, id).catch(() => null)
    if (ended) return
    if (progress !== null) onProgress(progress)
    later()
  }
  const later = () => {
    cancel = timers.after(reportEveryMs, () => void look())
  }
  later()
  return () => {
    ended = true
    cancel()
  }
}
