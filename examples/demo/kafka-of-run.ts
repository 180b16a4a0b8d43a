import type { BrokerOfRun } from './demo-broker.ts'
import type { DemoSettings } from './settings.ts'

const partitions = 4

/** Topics of one run, and how far its group stands behind their end. */
export async function kafkaOfRun({ kafkaBootstrap, queue, deadLetters }: DemoSettings): Promise<BrokerOfRun> {
  const { Admin, offsetFetchV9 } = await import('@platformatic/kafka')
  const { KafkaConnections } = await import('../../packages/onceward/src/sources/kafka/client/connections.ts')
  const { listOffsets } = await import('../../packages/onceward/src/sources/kafka/client/list-offsets.ts')
  const { ensureTopic } = await import('onceward/kafka')
  const connection = { bootstrap: kafkaBootstrap!, clientId: 'onceward-demo' }
  const connections = new KafkaConnections(connection)

  const offsets = async (topic: string, at: 'earliest' | 'latest') => {
    const numbers = (await connections.describeTopic(topic)).partitions.map(({ partition }) => partition)
    const found = await listOffsets(connections, topic, numbers, at, { isolation: 'committed' })
    return found.map(({ offset }) => Number(offset ?? 0n))
  }
  /** The group has the topic's name. */
  const committed = async (ends: readonly number[]) => {
    const wanted = [{ name: queue, partitionIndexes: [...ends.keys()] }]
    const group = { groupId: queue, memberId: null, memberEpoch: -1, topics: wanted }
    const { groups } = await connections.atCoordinator('group', queue, 'commit', one =>
      offsetFetchV9.api.async(one, [group], false),
    )
    const found = groups[0]?.topics[0]?.partitions ?? []
    return new Map(
      found.map(({ partitionIndex, committedOffset }) => [partitionIndex, Number(committedOffset)]),
    )
  }
  return {
    async prepare() {
      await ensureTopic(connection, queue, { partitions })
      await ensureTopic(connection, deadLetters, { partitions: 1 })
    },
    async depth() {
      const ends = await offsets(queue, 'latest')
      const told = await committed(ends)
      return ends.reduce((sum, end, partition) => sum + end - Math.max(0, told.get(partition) ?? 0), 0)
    },
    async deadLetterCopies() {
      const [first, end] = await Promise.all([
        offsets(deadLetters, 'earliest'),
        offsets(deadLetters, 'latest'),
      ])
      return end[0]! - first[0]!
    },
    async remove() {
      const admin = new Admin({ clientId: 'onceward-demo', bootstrapBrokers: kafkaBootstrap!.split(',') })
      await admin.deleteTopics({ topics: [queue, deadLetters] }).catch(() => {})
      await Promise.allSettled([admin.close(), connections.close()])
    },
  }
}
