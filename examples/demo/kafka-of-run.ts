import type { BrokerOfRun } from './demo-broker.ts'
import type { DemoSettings } from './settings.ts'

const partitions = 4
const [earliest, latest] = [-2n, -1n]
const committedOnly = 1

/**
 * The topics of one run, and the lag of its group. Read with the client's own Admin, not through Onceward.
 */
export async function kafkaOfRun({ kafkaBootstrap, queue, deadLetters }: DemoSettings): Promise<BrokerOfRun> {
  const { Admin } = await import('@platformatic/kafka')
  const { ensureTopic } = await import('onceward/kafka')
  const connection = { bootstrap: kafkaBootstrap!, clientId: 'onceward-demo' }
  const admin = new Admin({ clientId: 'onceward-demo', bootstrapBrokers: kafkaBootstrap!.split(',') })

  const offsets = async (name: string, count: number, timestamp: bigint) => {
    const asked = Array.from({ length: count }, (_, partitionIndex) => ({ partitionIndex, timestamp }))
    const topics = [{ name, partitions: asked }]
    const [found] = await admin.listOffsets({ topics, isolationLevel: committedOnly })
    return found!.partitions
  }
  /** The group has the topic's name. */
  const committed = async () => {
    const [group] = await admin.listConsumerGroupOffsets({ groups: [queue] })
    const found = group?.topics.find(({ name }) => name === queue)?.partitions ?? []
    return new Map(found.map(one => [one.partitionIndex, Number(one.committedOffset)]))
  }
  return {
    async prepare() {
      await ensureTopic(connection, queue, { partitions })
      await ensureTopic(connection, deadLetters, { partitions: 1 })
    },
    async depth() {
      const ends = await offsets(queue, partitions, latest)
      const known = await committed()
      return ends.reduce(
        (sum, { partitionIndex, offset }) =>
          sum + Number(offset) - Math.max(0, known.get(partitionIndex) ?? 0),
        0,
      )
    },
    async deadLetterCopies() {
      const [first] = await offsets(deadLetters, 1, earliest)
      const [end] = await offsets(deadLetters, 1, latest)
      return Number(end!.offset - first!.offset)
    },
    async remove() {
      await admin.deleteTopics({ topics: [queue, deadLetters] }).catch(() => {})
      await admin.close()
    },
  }
}
