import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { Admin, createTopicsV7, offsetFetchV9 } from '@platformatic/kafka'
import { KafkaConnections } from '../../src/drivers/kafka/client/connections.ts'
import { troubleOf } from '../../src/drivers/kafka/client/kafka-error.ts'
import { listOffsets } from '../../src/drivers/kafka/client/list-offsets.ts'
import { KafkaProducer, type TopicRecord } from '../../src/drivers/kafka/client/producer.ts'
import type { Compression } from '../../src/drivers/kafka/client/record-batch.ts'
import { TransactionalProducer } from '../../src/drivers/kafka/client/transactions.ts'
import { until } from '../../src/testing/until.ts'
import { kafkaBootstrap } from '../services/services.ts'
import { type ReadRecord, readTopic } from './read-topic.ts'

/** A record as tests write it: everything but the value may be left out. A null value is a tombstone. */
export interface TestRecord {
  readonly value: string | Buffer | null
  readonly key?: string | Buffer | null
  readonly partition?: number
  readonly headers?: Readonly<Record<string, string | Buffer | null>>
  readonly timestampMs?: number
}

/** A cluster seen from outside: what tests do to it and look at. Closed when the test ends. */
export interface TestKafka {
  readonly bootstrap: string
  readonly connections: KafkaConnections
  /** Creates it and waits until it can be written to. Deleted when the test ends. */
  createTopic(options?: TopicOptions): Promise<string>
  deleteTopic(name: string): Promise<void>
  /** Deletes and makes it again under the same name: another topic id, offsets from 0. */
  recreateTopic(name: string, options?: TopicOptions): Promise<void>
  addPartitions(name: string, total: number): Promise<void>
  /** Everything before `offset` is gone. */
  deleteRecords(name: string, partition: number, offset: number): Promise<void>
  alterTopic(name: string, configs: Readonly<Record<string, string>>): Promise<void>
  /** Offsets, in the order of the records. */
  produce(
    topic: string,
    records: readonly (TestRecord | string)[],
    compression?: Compression,
  ): Promise<number[]>
  /** A producer with a transaction of its own, to interleave with others. */
  transaction(topic: string, transactionalId?: string): Promise<TestTransaction>
  /** Committed offsets by partition; a partition without one is missing. Waits for pending transactions. */
  committed(group: string, topic: string): Promise<Map<number, number>>
  read(topic: string, isolation?: 'committed' | 'uncommitted'): Promise<ReadRecord[]>
  endOffset(topic: string, partition: number, isolation?: 'committed' | 'uncommitted'): Promise<number>
}

export interface TopicOptions {
  readonly name?: string
  readonly partitions?: number
  /** Default 1. */
  readonly replicas?: number
  readonly configs?: Readonly<Record<string, string>>
}

export interface TestTransaction {
  send(...records: (TestRecord | string)[]): Promise<void>
  /** May be used again afterwards: the next send opens another transaction. */
  commit(): Promise<void>
  abort(): Promise<void>
}

export const randomName = (kind = 'test') => `${kind}.${randomBytes(6).toString('hex')}`

/** The shared broker, or another one. */
export async function openKafka(t: TestContext, address?: string): Promise<TestKafka> {
  const bootstrap = address ?? (await kafkaBootstrap())
  const connections = new KafkaConnections({ bootstrap, clientId: 'test' })
  const admin = new Admin({ clientId: 'test', bootstrapBrokers: bootstrap.split(','), retries: 10 })
  const producers = new Map<Compression, KafkaProducer>()
  const created = new Set<string>()
  t.after(async () => {
    await admin.deleteTopics({ topics: [...created] }).catch(() => {})
    await Promise.all([admin.close().catch(() => {}), connections.close()])
  })

  /** The admin's own createTopics takes no configuration in a form that survives; one request is simpler. */
  const create = async ({
    name = randomName('topic'),
    partitions = 1,
    replicas = 1,
    configs = {},
  }: TopicOptions) => {
    const [broker] = await connections.brokers()
    const connection = await connections.connect('meta', broker!)
    const topic = {
      name,
      numPartitions: partitions,
      replicationFactor: replicas,
      assignments: [],
      configs: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
    }
    await createTopicsV7.api.async(connection, [topic], 10_000, false)
    created.add(name)
    await untilServed(connections, name, partitions)
    return name
  }
  const remove = async (name: string) => {
    await admin.deleteTopics({ topics: [name] })
    created.delete(name)
    await until(`topic ${name} is gone`, async () => (await connections.findTopic(name)) === null)
  }

  return {
    bootstrap,
    connections,
    createTopic: (options = {}) => create(options),
    deleteTopic: remove,
    recreateTopic: async (name, options = {}) => {
      await remove(name)
      await create({ ...options, name })
    },
    addPartitions: async (name, total) => {
      await admin.createPartitions({
        topics: [{ name, count: total, assignments: null }],
        validateOnly: false,
      })
      await untilServed(connections, name, total)
    },
    deleteRecords: async (name, partition, offset) => {
      const partitions = [{ partition, offset: BigInt(offset) }]
      await admin.deleteRecords({ topics: [{ name, partitions }] })
    },
    alterTopic: async (name, configs) => {
      const changes = Object.entries(configs).map(([key, value]) => ({
        name: key,
        value,
        configOperation: 0 as const,
      }))
      await admin.incrementalAlterConfigs({
        resources: [{ resourceType: 2, resourceName: name, configs: changes }],
        validateOnly: false,
      })
    },
    produce: async (topic, records, compression = 'none') => {
      const producer = producers.get(compression) ?? new KafkaProducer(connections, { compression })
      producers.set(compression, producer)
      const results = await producer.send(records.map(record => toRecord(topic, record)))
      return results.map(result => {
        if (result instanceof Error) throw result
        return Number(result.offset)
      })
    },
    transaction: async (topic, transactionalId = randomName('tx')) => {
      const producer = new TransactionalProducer(connections, {
        transactionalId,
        transactionTimeoutMs: 60_000,
      })
      await producer.start()
      return {
        send: async (...records) =>
          void (await producer.send(records.map(record => toRecord(topic, record)))),
        commit: () => producer.commit(),
        abort: () => producer.abort(),
      }
    },
    committed: (group, topic) => committedOffsets(connections, group, topic),
    read: (topic, isolation = 'committed') => readTopic(connections, topic, isolation),
    endOffset: async (topic, partition, isolation = 'committed') => {
      const [end] = await listOffsets(connections, topic, [partition], 'latest', { isolation })
      return Number(end!.offset)
    },
  }
}

/** A leader is known a moment before it serves. */
async function untilServed(connections: KafkaConnections, name: string, partitions: number): Promise<void> {
  await until(`topic ${name} is served`, async () => {
    const found = await connections.findTopic(name)
    if (found?.partitions.length !== partitions || found.partitions.some(({ leader }) => leader < 0))
      return false
    const numbers = found.partitions.map(({ partition }) => partition)
    return listOffsets(connections, name, numbers, 'latest', { isolation: 'uncommitted' }).then(
      () => true,
      () => false,
    )
  })
}

function toRecord(topic: string, record: TestRecord | string): TopicRecord {
  const {
    value,
    key = null,
    partition,
    headers = {},
    timestampMs,
  } = typeof record === 'string' ? ({ value: record } as TestRecord) : record
  const bytes = (from: string | Buffer | null) => (from === null ? null : Buffer.from(from as string))
  return {
    topic,
    ...(partition === undefined ? {} : { partition }),
    key: bytes(key),
    value: bytes(value),
    headers: Object.entries(headers).map(([name, header]) => [name, bytes(header)] as const),
    timestampMs: timestampMs ?? Date.now(),
  }
}

async function committedOffsets(
  connections: KafkaConnections,
  group: string,
  topic: string,
): Promise<Map<number, number>> {
  const { partitions } = await connections.describeTopic(topic)
  const wanted = [{ name: topic, partitionIndexes: partitions.map(({ partition }) => partition) }]
  const offsets = new Map<number, number>()
  await until(`offsets of ${group} are stable`, async () => {
    try {
      const { groups } = await connections.atCoordinator('group', group, 'commit', connection =>
        offsetFetchV9.api.async(
          connection,
          [{ groupId: group, memberId: null, memberEpoch: -1, topics: wanted }],
          true,
        ),
      )
      for (const { partitionIndex, committedOffset } of groups[0]!.topics[0]?.partitions ?? [])
        if (committedOffset >= 0n) offsets.set(partitionIndex, Number(committedOffset))
      return true
    } catch (error) {
      const { name, kind } = troubleOf(error)
      // A coordinator that was killed is another's task a moment later.
      if (name === 'UNSTABLE_OFFSET_COMMIT' || kind === 'network' || kind === 'coordinator') return false
      throw error
    }
  })
  return offsets
}
