import type { KafkaConnections } from './connections.ts'
import type { LogEnd } from './kafka-client.ts'
import { answerOf, KafkaError, troubleOfCode } from './kafka-error.ts'
import { offsetForLeaderEpochV4 } from './wire.ts'

/**
 * The end of each leader's whole log, beyond its high watermark. A new leader has every record that was
 * delivered before, and learns its high watermark only later.
 */
export async function logEnds(
  connections: KafkaConnections,
  topic: string,
  partitions: readonly number[],
): Promise<ReadonlyMap<number, LogEnd>> {
  const asked = partitions.map(async partition => {
    const { leader, leaderEpoch } = await connections.leaderOf(topic, partition)
    if (leader < 0) throw new KafkaError(troubleOfCode(5), `${topic}/${partition}`)
    const connection = await connections.connect('meta', leader)
    const question = { partitionIndex: partition, currentLeaderEpoch: leaderEpoch, leaderEpoch }
    const answer = await answerOf(
      offsetForLeaderEpochV4.api.async(connection, -1, [{ name: topic, partitions: [question] }]),
    )
    const found = answer.topics[0]?.partitions[0]
    if (found === undefined || found.errorCode !== 0)
      throw new KafkaError(troubleOfCode(found?.errorCode ?? -1), `${topic}/${partition}`)
    return [partition, { end: Number(found.endOffset), leaderEpoch }] as const
  })
  try {
    return new Map(await Promise.all(asked))
  } catch (error) {
    connections.forgetTopic(topic)
    throw error
  }
}
