import type { KafkaConnections, PartitionDescription } from './connections.ts'
import { answerOf, KafkaError, type KafkaTrouble, troubleOf, troubleOfCode } from './kafka-error.ts'
import { listOffsetsV9 } from './wire.ts'

/** A position in a partition: its first record, its end, or the first record not older than a time. */
export type OffsetAt = 'earliest' | 'latest' | { readonly timestampMs: number }

export interface FoundOffset {
  readonly partition: number
  /** Null for a time after the last record. */
  readonly offset: bigint | null
  readonly leaderEpoch: number
}

export interface ListOffsetsOptions {
  /** `committed`: the end is the last stable offset, before the first open transaction. */
  readonly isolation: 'committed' | 'uncommitted'
}

/**
 * Queries each partition's leader, and once more when leaders have moved. Rejects when one partition has no
 * answer.
 */
export async function listOffsets(
  connections: KafkaConnections,
  topic: string,
  partitions: readonly number[],
  at: OffsetAt,
  options: ListOffsetsOptions,
): Promise<readonly FoundOffset[]> {
  try {
    return await askLeaders(connections, topic, partitions, at, options)
  } catch (error) {
    if (troubleOf(error).kind !== 'leader') throw error
    return askLeaders(connections, topic, partitions, at, options)
  }
}

/** Discards the cached topic when a leader does not answer. */
async function askLeaders(
  connections: KafkaConnections,
  topic: string,
  partitions: readonly number[],
  at: OffsetAt,
  { isolation }: ListOffsetsOptions,
): Promise<readonly FoundOffset[]> {
  const byLeader = new Map<number, PartitionDescription[]>()
  for (const partition of partitions) {
    const described = await connections.leaderOf(topic, partition)
    const { leader } = described
    if (leader < 0) throw new KafkaError(troubleOfCode(5), `${topic}/${partition}`)
    byLeader.set(leader, [...(byLeader.get(leader) ?? []), described])
  }
  try {
    const found = await Promise.all(
      [...byLeader].map(([leader, some]) => askLeader(connections, leader, topic, some, at, isolation)),
    )
    return found.flat().sort((a, b) => a.partition - b.partition)
  } catch (error) {
    connections.forgetTopic(topic)
    throw error
  }
}

async function askLeader(
  connections: KafkaConnections,
  leader: number,
  topic: string,
  partitions: readonly PartitionDescription[],
  at: OffsetAt,
  isolation: ListOffsetsOptions['isolation'],
): Promise<FoundOffset[]> {
  const timestamp = at === 'latest' ? -1n : at === 'earliest' ? -2n : BigInt(at.timestampMs)
  // With its epoch: a replaced leader would answer for a log that has been truncated or has grown elsewhere
  // since.
  const wanted = partitions.map(({ partition, leaderEpoch }) => ({
    partitionIndex: partition,
    currentLeaderEpoch: leaderEpoch,
    timestamp,
  }))
  const connection = await connections.connect('meta', leader)
  const asked = listOffsetsV9.api.async(connection, -1, isolation === 'committed' ? 1 : 0, [
    { name: topic, partitions: wanted },
  ])
  const answers = (await answerOf(asked)).topics.flatMap(one => one.partitions)
  return answers.map(({ partitionIndex, errorCode, offset, leaderEpoch }) => {
    const trouble: KafkaTrouble | null = errorCode === 0 ? null : troubleOfCode(errorCode)
    if (trouble !== null) throw new KafkaError(trouble, `${topic}/${partitionIndex}`)
    return { partition: partitionIndex, offset: offset < 0n ? null : offset, leaderEpoch }
  })
}
