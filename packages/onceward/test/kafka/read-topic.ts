import { fetchV17, type RecordsBatch } from '@platformatic/kafka'
import type { KafkaConnections } from '../../src/drivers/kafka/client/connections.ts'
import { listOffsets } from '../../src/drivers/kafka/client/list-offsets.ts'

/** A record as a reader outside sees it. */
export interface ReadRecord {
  readonly partition: number
  readonly offset: number
  readonly key: string | null
  readonly value: string | null
  readonly headers: Readonly<Record<string, string | null>>
  readonly timestampMs: number
}

/**
 * Everything from the first record to the present end, partition by partition. A reader of its own, to check
 * the others by.
 */
export async function readTopic(
  connections: KafkaConnections,
  topic: string,
  isolation: 'committed' | 'uncommitted',
): Promise<ReadRecord[]> {
  const { id, partitions } = await connections.describeTopic(topic)
  const numbers = partitions.map(({ partition }) => partition)
  const starts = await listOffsets(connections, topic, numbers, 'earliest', { isolation })
  const ends = await listOffsets(connections, topic, numbers, 'latest', { isolation })
  const records: ReadRecord[] = []
  for (const { partition, leader } of partitions) {
    const aborted = new Map<bigint, bigint[]>()
    const end = ends[partition]!.offset!
    let next = starts[partition]!.offset!
    while (next < end) {
      const connection = await connections.connect('fetch', leader)
      const wanted = {
        partition,
        currentLeaderEpoch: -1,
        fetchOffset: next,
        lastFetchedEpoch: -1,
        partitionMaxBytes: 1 << 20,
      }
      const answer = await fetchV17.api.async(
        connection,
        500,
        1,
        1 << 20,
        isolation === 'committed' ? 1 : 0,
        0,
        -1,
        [{ topicId: id, partitions: [wanted] }],
        [],
        '',
      )
      const found = answer.responses[0]!.partitions[0]!
      for (const { producerId, firstOffset } of found.abortedTransactions ?? [])
        aborted.set(producerId, [...new Set([...(aborted.get(producerId) ?? []), firstOffset])])
      for (const batch of found.records ?? []) {
        const from = next
        next = batch.firstOffset + BigInt(batch.lastOffsetDelta) + 1n
        if ((batch.attributes & 32) !== 0) {
          const open = aborted.get(batch.producerId)?.filter(first => first > batch.firstOffset)
          if (isAbort(batch) && open !== undefined) aborted.set(batch.producerId, open)
          continue
        }
        const dropped =
          (batch.attributes & 16) !== 0 &&
          aborted.get(batch.producerId)?.some(first => first <= batch.firstOffset) === true
        if (!dropped) records.push(...shown(batch, partition).filter(({ offset }) => BigInt(offset) >= from))
      }
    }
  }
  return records
}

function isAbort(batch: RecordsBatch): boolean {
  return batch.records[0]?.key?.readInt16BE(2) === 0
}

function shown(batch: RecordsBatch, partition: number): ReadRecord[] {
  return batch.records.map(({ offsetDelta, key, value, headers, timestampDelta }) => ({
    partition,
    offset: Number(batch.firstOffset) + offsetDelta,
    key: key?.toString() ?? null,
    value: value?.toString() ?? null,
    headers: Object.fromEntries(
      [...(headers as unknown as [Buffer, Buffer | null][])].map(([name, header]) => [
        name.toString(),
        header?.toString() ?? null,
      ]),
    ),
    timestampMs: Number(batch.firstTimestamp + timestampDelta),
  }))
}
