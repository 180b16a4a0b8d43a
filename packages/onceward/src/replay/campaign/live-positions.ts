import type { Consumer } from '../../contract/define-consumer.ts'
import { readCheckpoints } from '../../drivers/postgres/campaign/campaign-consumer.ts'
import type { SqlClient } from '../../drivers/postgres/pool.ts'
import { progressOf } from '../../engine/consumer/checkpoints.ts'
import type { LogRange, RangeReader } from '../../ports/range-reader.ts'
import type { Position } from '../../ports/source.ts'
import type { Campaign } from './campaign.ts'

/** By partition: the live consumer has finished every message before this position, or its store holds it. */
export type LivePositions = ReadonlyMap<string, string>

/**
 * How far the live consumer has come in the partitions of these ranges. When the broker keeps the position,
 * the store learns it only now and then, so the later of the two counts. When the store keeps it, the
 * broker's position is only a hint: after a restore it is ahead of what the live consumer will read. A
 * position in another incarnation of the log is ignored.
 */
export async function livePositions(
  client: SqlClient,
  { consumer, liveGeneration }: Pick<Campaign, 'consumer' | 'liveGeneration'>,
  contract: Pick<Consumer, 'dedup' | 'settle'>,
  ranges: readonly LogRange[],
  reader: Pick<RangeReader, 'committed'> | null,
): Promise<LivePositions> {
  const rows = await readCheckpoints(client, { name: consumer, generation: liveGeneration })
  // If the broker does not answer, or refuses this user, the store's position is used. It may be earlier,
  // never later.
  const partitions = ranges.map(({ partition }) => partition)
  const keeper = progressOf(contract)
  const asked = keeper === 'broker' || keeper === 'first' ? reader : null
  const committed = await Promise.resolve(asked?.committed?.(partitions)).catch(() => undefined)
  const stored = new Map<string, Position>(rows.map(row => [row.partition, row]))
  const furthest = new Map<string, string>()
  for (const { partition, incarnation } of ranges) {
    const known = [stored.get(partition), committed?.get(partition)].flatMap(position =>
      position?.incarnation === incarnation ? BigInt(position.next) : [],
    )
    if (known.length > 0) furthest.set(partition, String(known.reduce((a, b) => (a > b ? a : b))))
  }
  return furthest
}
