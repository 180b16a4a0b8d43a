import { setTimeout as pause } from 'node:timers/promises'
import {
  type Connection,
  ConnectionPool,
  fetchV17,
  findCoordinatorV6,
  metadataV12,
  offsetCommitV9,
} from '@platformatic/kafka'
import type { ConnectLog, LogReader, LogRecord } from './log-reader.ts'

const maxWaitMs = 100
const readCommitted = 1
const partitionBytesMax = 256 * 1024
const answerBytesMax = 16 * 1024 * 1024

/**
 * The client's own fetch and record parser in a loop. One broker leads and coordinates everything, as in the
 * benchmark.
 */
export const connectKafka: ConnectLog = async place => {
  const pool = (purpose: string) =>
    new ConnectionPool(`onceward-bench-${purpose}`, { requestTimeout: 30_000 })
  const [host, port] = place.kafkaBootstrap!.split(',')[0]!.split(':')
  const broker = { host: host!, port: Number(port) }
  const fetching = await pool('fetch').get(broker)
  const committing = await pool('commit').get(broker)
  return {
    async open({ queue, group }) {
      const { topics } = await metadataV12.api.async(committing, [queue], false, false)
      const { topicId, partitions } = topics[0]!
      const count = partitions.length
      const reader = new KafkaReader(fetching, committing, { topic: queue, topicId, group, count })
      await coordinate(committing, group, () => reader.commit(new Map([[0, 0]])))
      return reader
    },
  }
}

/** A new broker creates the topic of offsets at the first request, and refuses commits until it is loaded. */
async function coordinate(connection: Connection, group: string, commit: () => Promise<void>): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      await findCoordinatorV6.api.async(connection, 0, [group])
      return await commit()
    } catch (error) {
      if (tries === 200) throw error
      await pause(50)
    }
  }
}

interface TopicToRead {
  readonly topic: string
  readonly topicId: string
  readonly group: string
  readonly count: number
}

/** The next fetch is under way while the records of the last are worked on. */
class KafkaReader implements LogReader {
  readonly #fetching: Connection
  readonly #committing: Connection
  readonly #topic: TopicToRead
  readonly #next: bigint[]
  #ahead: Promise<readonly LogRecord[]> | null = null

  constructor(fetching: Connection, committing: Connection, topic: TopicToRead) {
    this.#fetching = fetching
    this.#committing = committing
    this.#topic = topic
    this.#next = Array.from({ length: topic.count }, () => 0n)
  }

  async read(): Promise<readonly LogRecord[]> {
    const records = await (this.#ahead ?? this.#fetch())
    this.#ahead = this.#fetch()
    this.#ahead.catch(() => {})
    return records
  }

  async commit(nextByPartition: ReadonlyMap<number, number>): Promise<void> {
    const { topic, group } = this.#topic
    const partitions = [...nextByPartition].map(([partitionIndex, next]) => ({
      partitionIndex,
      committedOffset: BigInt(next),
      committedLeaderEpoch: -1,
      committedMetadata: '',
    }))
    await offsetCommitV9.api.async(this.#committing, group, -1, '', null, [{ name: topic, partitions }])
  }

  async close(): Promise<void> {
    await this.#ahead
  }

  async #fetch(): Promise<readonly LogRecord[]> {
    const partitions = this.#next.map((fetchOffset, partition) => ({
      partition,
      currentLeaderEpoch: -1,
      fetchOffset,
      lastFetchedEpoch: -1,
      partitionMaxBytes: partitionBytesMax,
    }))
    const { topicId } = this.#topic
    const topics = [{ topicId, partitions }]
    // biome-ignore format: the arguments of one request, without a session (0, -1)
    const answer = await fetchV17.api.async(
      this.#fetching, maxWaitMs, 1, answerBytesMax, readCommitted, 0, -1, topics, [], '',
    )
    const records: LogRecord[] = []
    for (const { partitionIndex, records: batches } of answer.responses[0]?.partitions ?? []) {
      for (const batch of batches ?? []) this.#take(partitionIndex, batch, records)
    }
    return records
  }

  #take(partition: number, batch: Batch, into: LogRecord[]): void {
    const base = Number(batch.firstOffset)
    const from = Number(this.#next[partition]!)
    for (const { offsetDelta, value } of batch.records) {
      const offset = base + offsetDelta
      if (offset >= from) into.push({ partition, offset, body: value! })
    }
    this.#next[partition] = BigInt(base + batch.lastOffsetDelta + 1)
  }
}

interface Batch {
  readonly firstOffset: bigint
  readonly lastOffsetDelta: number
  readonly records: readonly { readonly offsetDelta: number; readonly value: Buffer | null }[]
}
