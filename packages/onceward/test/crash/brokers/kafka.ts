import type { TestContext } from 'node:test'
import { topic } from 'onceward/kafka'
import { openKafka } from '../../kafka/fixture.ts'
import type { LoggedRecord, TestBroker } from '../brokers.ts'
import { unread } from '../positions.ts'

const partitions = 3

/**
 * Static membership, so that the next process has its partitions at once and not when the dead one's session
 * ends.
 */
export async function kafkaBroker(name: string): Promise<TestBroker> {
  const cleanup = new AsyncDisposableStack()
  const kafka = await openKafka({ after: (step: () => Promise<void>) => cleanup.defer(step) } as TestContext)
  const deadLetter = `${name}.dead`
  await kafka.createTopic({ name, partitions })
  await kafka.createTopic({ name: deadLetter })
  const out = await kafka.createTopic({ name: `${name}.out`, partitions })
  const records: LoggedRecord[] = []
  const told = async () => {
    const committed = await kafka.committed(name, name)
    return new Map([...committed].map(([partition, offset]) => [`${name}/${partition}`, offset]))
  }
  return {
    declaration: topic(name, {
      group: name,
      instance: 'crash-worker',
      start: 'earliest',
      sessionTimeoutMs: 6_000,
    }),
    deadLetter,
    target: { broker: 'kafka', topic: out },
    published: async () => (await kafka.read(out)).map(({ headers }) => headers['message-id']!),
    log: { records, told },
    publish: async messages => {
      const placed = messages.map((produced, n) => ({ produced, partition: partitionOf(produced.id, n) }))
      const offsets = await kafka.produce(
        name,
        placed.map(({ produced, partition }) => ({ value: produced.body, key: produced.id, partition })),
      )
      for (const [n, { produced, partition }] of placed.entries())
        records.push({ partition: `${name}/${partition}`, offset: offsets[n]!, produced })
    },
    depth: async () => unread(records, await told()).length,
    deadLetters: async () => (await kafka.read(deadLetter)).map(({ headers }) => headers['message-id']!),
    close: () => cleanup.disposeAsync(),
  }
}

/** Copies of a message stand in its partition, as with any partitioner; those without a key anywhere. */
function partitionOf(id: string | null, n: number): number {
  return (id === null ? n : Number(id.split('-')[1])) % partitions
}
