import { levelQueue } from '../../ports/retry-levels.ts'
import { KafkaConnections } from './client/connections.ts'
import { fetchCommitted } from './client/fetch-committed.ts'
import { toOncewardError } from './client/kafka-error.ts'
import { listOffsets } from './client/list-offsets.ts'
import { levelGroup } from './retry-topic.ts'
import type { TopicDeclaration } from './topic.ts'

/** Copies are written outside transactions, so uncommitted reads see no aborted ones. */
const all = { isolation: 'uncommitted' } as const

type Reachable = TopicDeclaration & ConstructorParameters<typeof KafkaConnections>[0]

/**
 * Records of a delay level that the consumer's group has not read; null when the topic does not exist. Joins
 * no group and commits nothing.
 */
export async function copiesInLevel(
  declaration: Reachable,
  levelMs: number,
  consumer: { readonly name: string; readonly generation: number },
): Promise<number | null> {
  const topic = levelQueue(declaration.topic, levelMs)
  const connections = new KafkaConnections(declaration)
  try {
    const found = await connections.findTopic(topic)
    if (found === null) return null
    const numbers = found.partitions.map(({ partition }) => partition)
    const group = levelGroup(declaration, levelMs, consumer)
    const committed = await fetchCommitted(connections, group, topic, numbers)
    const first = await listOffsets(connections, topic, numbers, 'earliest', all)
    const next = await listOffsets(connections, topic, numbers, 'latest', all)
    const begins = new Map(first.map(({ partition, offset }) => [partition, Number(offset ?? 0)]))
    return next.reduce((sum, { partition, offset }) => {
      const read = Math.max(begins.get(partition) ?? 0, committed.get(partition)?.offset ?? 0)
      return sum + Math.max(0, Number(offset ?? 0) - read)
    }, 0)
  } catch (error) {
    throw toOncewardError(error, `Inspecting topic ${topic}`, 'Nothing was started.')
  } finally {
    await connections.close()
  }
}
