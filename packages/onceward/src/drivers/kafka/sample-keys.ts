import type { KafkaConnections } from './client/connections.ts'
import { troubleOfCode } from './client/kafka-error.ts'
import { listOffsets } from './client/list-offsets.ts'
import { fetchRecords } from './fetch-response.ts'
import type { RawRecord } from './raw-record.ts'
import { decodeRecordSet, UnreadableBatch } from './record-set.ts'

/**
 * How the newest records of a topic are distributed. The keys themselves may be sensitive and are not kept.
 */
export interface KeySample {
  /** Number of offsets between the start and the end of each partition. */
  readonly sizes: readonly number[]
  readonly records: number
  readonly withoutKey: number
  /**
   * The share of the most frequent key among records with a key, from 0 to 1, and the number of distinct
   * keys.
   */
  readonly largestShare: number
  readonly keys: number
}

const partitionsMax = 64
const recordsPerPartition = 200
const partitionBytesMax = 64 * 1024

/**
 * Samples the last records of each partition with one fetch per leader. Joins no group. Rejects when a
 * partition cannot be read.
 */
export async function sampleKeys(connections: KafkaConnections, name: string): Promise<KeySample> {
  const topic = await connections.describeTopic(name)
  const some = topic.partitions.filter(({ leader }) => leader >= 0).slice(0, partitionsMax)
  const numbers = some.map(({ partition }) => partition)
  const read = { isolation: 'uncommitted' } as const
  const starts = await listOffsets(connections, name, numbers, 'earliest', read)
  const ends = await listOffsets(connections, name, numbers, 'latest', read)
  const startOf = new Map(starts.map(one => [one.partition, Number(one.offset ?? 0)]))
  const spans = ends.map(({ partition, offset }) => {
    const [start, end] = [startOf.get(partition) ?? 0, Number(offset ?? 0)]
    return { partition, start, end, from: Math.max(start, end - recordsPerPartition) }
  })
  const odd = spans.find(({ start, end }) => !(start >= 0 && end >= start))
  if (odd !== undefined)
    throw new Error(
      `the broker says that partition ${odd.partition} starts at ${odd.start} and ends at ${odd.end}`,
    )
  const wanted = spans.filter(span => span.end > span.start)
  const byLeader = Map.groupBy(wanted, span => topic.partitions[span.partition]!.leader)
  const answers = await Promise.all(
    [...byLeader].map(([leader, these]) => readNewest(connections, topic, leader, these)),
  )
  return { sizes: spans.map(span => span.end - span.start), ...countKeys(answers.flat()) }
}

interface Span {
  readonly partition: number
  readonly from: number
}

async function readNewest(
  connections: KafkaConnections,
  topic: { readonly id: string; readonly partitions: readonly { readonly leaderEpoch: number }[] },
  leader: number,
  spans: readonly Span[],
): Promise<RawRecord[]> {
  const connection = await connections.connect('fetch', leader)
  const { partitions } = await fetchRecords(connection, {
    maxWaitMs: 100,
    bytesMax: 4 * 1024 * 1024,
    isolation: 'uncommitted',
    topicId: topic.id,
    partitions: spans.map(({ partition, from }) => ({
      partition,
      currentLeaderEpoch: topic.partitions[partition]!.leaderEpoch,
      fetchOffset: BigInt(from),
      lastFetchedEpoch: -1,
      partitionMaxBytes: partitionBytesMax,
    })),
  })
  return partitions.flatMap(({ partition, errorCode, records }) => {
    const from = spans.find(span => span.partition === partition)?.from ?? 0
    if (errorCode !== 0) throw new Error(`partition ${partition}: ${troubleOfCode(errorCode).text}`)
    return readable(records, from)
  })
}

function readable(records: Buffer, from: number): readonly RawRecord[] {
  try {
    const options = { from, isolation: 'uncommitted', aborted: [], bytesMax: 1024 * 1024 } as const
    return decodeRecordSet(records, options).records
  } catch (error) {
    if (error instanceof UnreadableBatch) return error.before.records
    throw error
  }
}

function countKeys(records: readonly RawRecord[]): Omit<KeySample, 'sizes'> {
  const counts = new Map<string, number>()
  for (const record of records) {
    const key = record.key?.toString('latin1')
    if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  const keyed = [...counts.values()].reduce((sum, count) => sum + count, 0)
  return {
    records: records.length,
    withoutKey: records.length - keyed,
    largestShare: keyed === 0 ? 0 : Math.max(...counts.values()) / keyed,
    keys: counts.size,
  }
}
