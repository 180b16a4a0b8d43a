import type { Consumer } from '../../contract/define-consumer.ts'
import type { LogRange, RangeReader } from '../../drivers/log/range-reader.ts'
import { readCheckpoints } from '../../drivers/postgres/campaign/campaign-consumer.ts'
import type { SqlClient } from '../../drivers/postgres/pool.ts'
import { progressOf } from '../../engine/consumer/checkpoints.ts'
import type { Position } from '../../ports/source.ts'
import type { Campaign } from './campaign.ts'

/** By partition: everything before is finished by the live consumer, or held in its store. */
export type LivePositions = ReadonlyMap<string, string>

/**
 * How far the live consumer is done with the partitions of these ranges. Where the broker keeps its position
 * the store learns it only now and then, so the later of the two counts. Where the store keeps it the
 * broker's is only a hint, ahead of what live will read after a restore. A position in another incarnation of
 * the log says nothing.
 */
export async function livePositions(
  client: SqlClient,
  { consumer, liveGeneration }: Pick<Campaign, 'consumer' | 'liveGeneration'>,
  contract: Pick<Consumer, 'dedup' | 'settle'>,
  ranges: readonly LogRange[],
  reader: Pick<RangeReader, 'told'> | null,
): Promise<LivePositions> {
  const rows = await readCheckpoints(client, { name: consumer, generation: liveGeneration })
  // A broker that does not say, or not to this user, leaves what the store knows: less, and never too much.
  const partitions = ranges.map(({ partition }) => partition)
  const keeper = progressOf(contract)
  const asked = keeper === 'broker' || keeper === 'first' ? reader : null
  const told = await Promise.resolve(asked?.told?.(partitions)).catch(() => undefined)
  const stored = new Map<string, Position>(rows.map(row => [row.partition, row]))
  const furthest = new Map<string, string>()
  for (const { partition, incarnation } of ranges) {
    const known = [stored.get(partition), told?.get(partition)].flatMap(position =>
      position?.incarnation === incarnation ? BigInt(position.next) : [],
    )
    if (known.length > 0) furthest.set(partition, String(known.reduce((a, b) => (a > b ? a : b))))
  }
  return furthest
}
