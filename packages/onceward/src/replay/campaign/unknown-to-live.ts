import type { Consumer } from '../../contract/define-consumer.ts'
import type { SqlTransaction } from '../../contract/handler.ts'
import type { LogRange, RangeReader } from '../../drivers/log/range-reader.ts'
import { findUnmarked } from '../../drivers/postgres/campaign/campaign-consumer.ts'
import type { SqlClient } from '../../drivers/postgres/pool.ts'
import { createMessageReader } from '../../message/read-message.ts'
import { asksOutside } from './ahead-of-live.ts'
import { type Campaign, rangesOf, refused, suppressesEffects } from './campaign.ts'
import { CampaignReader } from './campaign-reader.ts'
import { needsMemory } from './horizon.ts'
import type { RunCampaignOptions } from './run-campaign.ts'
import { deliveryOf, selectKeys } from './select-keys.ts'

type Asked = Pick<Campaign, 'consumer' | 'liveGeneration' | 'mode' | 'selection' | 'effects'>
type Contract = Consumer<unknown, SqlTransaction>

/**
 * Messages of a file that the live consumer has no marker of, and that a campaign would apply with their
 * external effects suppressed. They have no position to compare, so nobody can tell whether they are still on
 * their way: live would skip them, and nobody would ever ask for their effects. 0 where nothing is lost by
 * that, and where somebody says that they never come live.
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

/** Page by page; what has no id is not applied. */
async function* idsIn(
  reader: RangeReader,
  ranges: readonly LogRange[],
  keys: readonly string[] | undefined,
  consumer: Contract,
): AsyncGenerator<readonly string[]> {
  const selects = keys === undefined ? null : selectKeys(keys, consumer)
  const bounded = new CampaignReader(reader, { ranges, throttle: null, selects })
  const read = createMessageReader(consumer, work => work)
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

/** Asked when it starts as well: live may have come to them since the preview. */
export async function assertKnownToLive(campaign: Campaign, options: RunCampaignOptions): Promise<void> {
  const { pool, consumer, openReader } = options
  const count = await countUnknownToLive(pool, campaign, consumer, rangesOf(campaign), openReader)
  if (count > 0) throw refused(unknownText(count))
}

export function unknownText(count: number): string {
  const [messages, have, they] =
    count === 1 ? ['message', 'has', 'it comes'] : ['messages', 'have', 'they come']
  return `${count} ${messages} of the file ${have} no marker of the live consumer. If ${they} to live after the campaign, live skips what the campaign applied, and external effects and published messages would never be asked for. Run the live consumer until it has finished them; or, if they never come to it, create the campaign with --never-live; or let a backfill ask for their effects with --request-effects.`
}
