import type { Consumer } from '../../contract/define-consumer.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import { findUnmarked } from '../../drivers/postgres/campaign/campaign-consumer.ts'
import type { SqlClient } from '../../drivers/postgres/pool.ts'
import { createAnsweredReader } from '../../message/read-message.ts'
import type { LogRange, RangeReader } from '../../ports/range-reader.ts'
import { asksOutside } from './ahead-of-live.ts'
import { type Campaign, rangesOf, refused, suppressesEffects } from './campaign.ts'
import { CampaignReader } from './campaign-reader.ts'
import { needsMemory } from './horizon.ts'
import type { RunCampaignOptions } from './run-campaign.ts'
import { deliveryOf, selectKeys } from './select-keys.ts'

type Asked = Pick<Campaign, 'consumer' | 'liveGeneration' | 'mode' | 'selection' | 'effects'>
type Contract = Consumer<unknown, SqlTransaction>

/**
 * Counts messages of a file that have no marker of the live consumer and that a campaign would apply with
 * their external effects suppressed. They have no position to compare, so they may still be on their way to
 * the live consumer. It would skip them, and their effects would never be requested. 0 when no effect can be
 * lost, and when the requester stated that they never reach the live consumer.
 */
export async function countUnknownToLive(
  client: SqlClient,
  campaign: Asked,
  consumer: Contract,
  ranges: readonly LogRange[],
  openReader: (selection: Campaign['selection']) => Promise<RangeReader>,
): Promise<number> {
  const { selection, mode } = campaign
  if (selection.of !== 'file' || selection.neverLive === true || !needsMemory(mode)) return 0
  if (!asksOutside(consumer) || !suppressesEffects(campaign, consumer)) return 0
  const live = { name: campaign.consumer, generation: campaign.liveGeneration }
  const found = new Set<string>()
  const reader = await openReader(selection)
  try {
    for await (const ids of idsIn(reader, ranges, selection.keys, consumer))
      for (const id of await findUnmarked(client, live, ids)) found.add(id)
  } finally {
    await reader.close()
  }
  return found.size
}

/** Page by page. A message without an id is not applied. */
async function* idsIn(
  reader: RangeReader,
  ranges: readonly LogRange[],
  keys: readonly string[] | undefined,
  consumer: Contract,
): AsyncGenerator<readonly string[]> {
  const selects = keys === undefined ? null : selectKeys(keys, consumer)
  const bounded = new CampaignReader(reader, { ranges, throttle: null, selects })
  const read = createAnsweredReader(consumer)
  for (const range of ranges) {
    let from = await bounded.begin(range.partition)
    for (;;) {
      const page = await bounded.read(range.partition, from)
      if (page.kind !== 'records') break
      const received = await Promise.all(page.records.map(record => read(deliveryOf(record, range))))
      yield received.flatMap(one => (one.readable ? [one.id] : []))
      if (page.atEnd || page.next === from.next) break
      from = { ...from, next: page.next }
    }
  }
}

/** Checked again at the start: the live consumer may have finished them since the preview. */
export async function assertKnownToLive(campaign: Campaign, options: RunCampaignOptions): Promise<void> {
  const { pool, consumer, openReader } = options
  const count = await countUnknownToLive(pool, campaign, consumer, rangesOf(campaign), openReader)
  if (count > 0) throw refused(unknownText(count))
}

export function unknownText(count: number): string {
  const [messages, have, they] =
    count === 1 ? ['message', 'has', 'it reaches'] : ['messages', 'have', 'they reach']
  return `${count} ${messages} of the file ${have} no marker of the live consumer. If ${they} the live consumer after the campaign, it skips them as duplicates, and their external effects and published messages are never requested. Run the live consumer until it has finished them; or, if they never reach it, create the campaign with --never-live; or request their effects in a backfill with --request-effects.`
}
