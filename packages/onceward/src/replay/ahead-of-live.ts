import type { Consumer } from '../contract/define-consumer.ts'
import type { LogRange } from '../sources/log/range-reader.ts'
import type { SqlClient } from '../stores/postgres/pool.ts'
import { type Campaign, suppressesEffects } from './campaign.ts'
import { needsMemory } from './horizon.ts'

type Asked = Pick<Campaign, 'consumer' | 'liveGeneration' | 'mode' | 'selection' | 'effects'>

/**
 * What a campaign would apply before the live consumer has come to it, with external effects suppressed that live would have asked for: live then
 * finds the markers and skips it, and nobody asks any more. Empty where nothing is lost by that.
 */
export async function aheadOfLive(
  client: SqlClient,
  campaign: Asked,
  consumer: Pick<Consumer, 'effect' | 'replay'>,
  ranges: readonly LogRange[],
): Promise<readonly LogRange[]> {
  const { selection, mode, consumer: name, liveGeneration } = campaign
  if (selection.of !== 'log' || !needsMemory(mode) || !suppressesEffects(campaign, consumer)) return []
  if (!asksOutside(consumer)) return []
  const { rows } = await client.query(
    `select k.partition, k.incarnation, k.next from onceward.checkpoint k
     join onceward.consumer c on c.id = k.consumer_id where c.name = $1 and c.generation = $2`,
    [name, liveGeneration],
  )
  const live = new Map(rows.map(row => [row.partition as string, row]))
  return ranges.flatMap(range => {
    const stands = live.get(range.partition)
    const known = stands !== undefined && stands.incarnation === range.incarnation && stands.next !== null
    const from = known && BigInt(stands.next) > BigInt(range.from) ? (stands.next as string) : range.from
    return BigInt(from) < BigInt(range.to) ? [{ ...range, from }] : []
  })
}

export function aheadText(ahead: readonly LogRange[]): string {
  const places = ahead.map(({ partition, from, to }) => `${partition} ${from} to ${to}`).join(', ')
  return `The live consumer has not come to ${places}. What the campaign applies there, live skips as duplicate, and its external effects and messages are NEVER asked for: they are only written to onceward.would_have. Let live come to the end of the ranges first, or choose an earlier end.`
}

export function asksOutside({ effect }: Pick<Consumer, 'effect'>): boolean {
  const { external = {}, publish = {} } = effect ?? {}
  return Object.keys(external).length + Object.keys(publish).length > 0
}
