import type { TestContext } from 'node:test'
import { Admin } from '@platformatic/kafka'
import type { Source } from 'onceward'
import { createKafkaPublisher, createKafkaSource, topic } from 'onceward/kafka'
import type { PublishedMessage, PublisherFactory, RangeReaderFactory, SourceFactory } from 'onceward/testing'
import { KafkaRangeReader } from '../../src/drivers/kafka/kafka-range-reader.ts'
import type { LogOptions } from '../../src/ports/source.ts'
import { openKafka, type TestRecord } from '../kafka/fixture.ts'
import { startKafkaProxy } from '../kafka/kafka-proxy.ts'
import { kafkaBootstrap, skipWithout } from '../services/services.ts'

/** A topic of four partitions and a group of its own, reached through a proxy that can be cut. */
export async function kafkaSource(protocol: 'classic' | 'consumer' = 'classic'): Promise<SourceFactory> {
  const { skip } = await skipWithout('kafka')
  if (skip !== undefined) return { unavailable: skip, create: () => Promise.reject(new Error(skip)) }
  const bootstrap = await kafkaBootstrap()
  return {
    without: {
      headers: 'Kafka carries header values as bytes, not as numbers and texts',
      'nested headers': 'Kafka carries header values as bytes',
    },
    async create() {
      const hooks: (() => unknown)[] = []
      const scope = { after: (hook: () => unknown) => void hooks.push(hook) } as unknown as TestContext
      const kafka = await openKafka(scope)
      const proxy = await startKafkaProxy(scope, bootstrap)
      const name = await kafka.createTopic({ partitions: 4, configs: { 'max.message.bytes': '2000000' } })
      /**
       * As the default has it, by name and generation, but not shared with whoever else tests on this broker.
       */
      const groupOf = (consumer: LogOptions['consumer']) => `${name}.${consumer.name}.${consumer.generation}`
      const groups = new Set<string>()
      const declaration = topic(name, { protocol, start: 'earliest', sessionTimeoutMs: 10_000 })
      const create = (): Source => ({
        ...createKafkaSource(declaration),
        open: options => {
          const grouped = { ...declaration, group: groupOf(options.log.consumer) }
          groups.add(grouped.group)
          return createKafkaSource(grouped, { bootstrap: proxy.bootstrap }).open(options)
        },
      })
      const partitions = [0, 1, 2, 3].map(partition => `${name}/${partition}`)
      const end = (partition: string) => kafka.endOffset(name, partitions.indexOf(partition))
      return {
        source: create(),
        another: create,
        partitions,
        publish: async messages => void (await kafka.produce(name, messages.map(toRecord))),
        countFrom: async (partition, cursor) => (await end(partition)) - Number(cursor ?? 0),
        committed: async (partition, consumer) => {
          const offsets = await kafka.committed(groupOf(consumer), name)
          const offset = offsets.get(partitions.indexOf(partition))
          return offset === undefined ? null : String(offset)
        },
        loseRecords: async (partition, keep) =>
          kafka.deleteRecords(name, partitions.indexOf(partition), (await end(partition)) - keep),
        hideRecords: async partition => {
          proxy.endEarly(name, partitions.indexOf(partition), 2)
          return async () => proxy.listen()
        },
        recreate: () => kafka.recreateTopic(name, { partitions: 4 }),
        forgetPositions: async () => {
          for (const group of groups) await forget(bootstrap, group, name)
        },
        disconnect: async () => proxy.cut(),
        close: async () => {
          for (const hook of hooks.toReversed()) await hook()
        },
      }
    },
  }
}

/** The same topic, read back by the source of the suite. */
export async function kafkaPublisher(): Promise<PublisherFactory> {
  const { unavailable, create } = await kafkaSource()
  if (unavailable !== undefined) return { unavailable, create: () => Promise.reject(new Error(unavailable)) }
  const bootstrap = await kafkaBootstrap()
  return {
    without: { 'typed headers': 'Kafka carries header values as bytes' },
    async create() {
      const hooks: (() => unknown)[] = []
      const scope = { after: (hook: () => unknown) => void hooks.push(hook) } as unknown as TestContext
      const destination = await create({ keyOrder: false })
      const proxy = await startKafkaProxy(scope, bootstrap)
      const name = destination.partitions![0]!.replace(/\/0$/, '')
      return {
        publisher: createKafkaPublisher({ bootstrap: proxy.bootstrap }),
        destination,
        place: { exchange: null, queue: name },
        unknown: { exchange: null, queue: `${name}.none` },
        tooLargeBytes: 2_100_000,
        disconnect: async () => proxy.cut(),
        close: async () => {
          for (const hook of hooks.toReversed()) await hook()
        },
      }
    },
  }
}

export async function kafkaRanges(): Promise<RangeReaderFactory> {
  const { unavailable, create } = await kafkaSource()
  if (unavailable !== undefined) return { unavailable, create: () => Promise.reject(new Error(unavailable)) }
  const bootstrap = await kafkaBootstrap()
  return {
    async create() {
      const log = await create({ keyOrder: false })
      const partitions = log.partitions!
      const name = partitions[0]!.replace(/\/0$/, '')
      const options = { topic: name, isolation: 'committed', group: `${name}.replay`, bootstrap } as const
      return {
        ...log,
        partitions,
        openReader: () => new KafkaRangeReader({ ...options, clientId: 'conformance' }),
        edgeOf: partition => partition.slice(partition.lastIndexOf('/') + 1),
      }
    },
  }
}

function toRecord({ body, key, partition, headers, properties = {} }: PublishedMessage): TestRecord {
  const { timestampMs, tombstone: _, ...named } = properties
  const texts = Object.entries({ ...headers, ...named }).map(([name, value]) => [name, String(value)])
  return {
    value: body,
    key: key ?? null,
    headers: Object.fromEntries(texts),
    ...(partition !== undefined && { partition }),
    ...(timestampMs !== undefined && { timestampMs }),
  }
}

async function forget(bootstrap: string, groupId: string, name: string): Promise<void> {
  const admin = new Admin({ clientId: 'conformance', bootstrapBrokers: [bootstrap] })
  try {
    const topics = [{ name, partitionIndexes: [0, 1, 2, 3] }]
    await admin.deleteConsumerGroupOffsets({ groupId, topics })
  } finally {
    await admin.close()
  }
}
