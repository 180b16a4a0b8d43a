import { OncewardError } from '../../../errors.ts'
import { choosePartition } from './choose-partition.ts'
import type { KafkaConnections } from './connections.ts'
import { toOncewardError } from './kafka-error.ts'
import {
  type LineOptions,
  PartitionLine,
  type ProducerIdentity,
  type RecordResult,
} from './partition-line.ts'
import type { Compression, OutgoingRecord } from './record-batch.ts'
import { initProducerIdV5 } from './wire.ts'

export interface TopicRecord extends OutgoingRecord {
  readonly topic: string
  /** Default: chosen by key. */
  readonly partition?: number
}

export interface ProducerOptions {
  readonly compression?: Compression
  /** Default 30 s, from the call of `send` to its last answer. */
  readonly deliveryTimeoutMs?: number
}

/** Sends records to their partitions, each through the partition's line. */
export class PartitionLines {
  readonly #options: LineOptions
  readonly #lines = new Map<string, PartitionLine>()
  #turn = 0

  constructor(options: LineOptions) {
    this.#options = options
  }

  /** Results are in the order of the records; records of one partition are stored in order. Never rejects. */
  async send(records: readonly TopicRecord[]): Promise<readonly RecordResult[]> {
    const results: RecordResult[] = new Array(records.length)
    const parts = new Map<PartitionLine, { indexes: number[]; records: TopicRecord[] }>()
    const turn = this.#turn++
    const topics = await this.#describe(records)
    for (const [index, record] of records.entries()) {
      const topic = topics.get(record.topic)!
      if (topic instanceof OncewardError) {
        results[index] = topic
        continue
      }
      const partition = record.partition ?? choosePartition(record.key, topic.partitions.length, turn)
      const line = this.#line(record.topic, partition)
      const part = parts.get(line) ?? { indexes: [], records: [] }
      part.indexes.push(index)
      part.records.push(record)
      parts.set(line, part)
    }
    const sent = [...parts].map(async ([line, { indexes, records: some }]) => {
      const answers = await line.send(some)
      indexes.forEach((index, place) => {
        results[index] = answers[place]!
      })
    })
    await Promise.all(sent)
    return results
  }

  /** Describes each topic once, so an unavailable cluster is queried and waited for only once. */
  async #describe(records: readonly TopicRecord[]) {
    const names = [...new Set(records.map(({ topic }) => topic))]
    const found = names.map(async name => {
      const topic = await this.#options.connections.topic(name).catch(error => unsendable(name, error))
      return [name, topic] as const
    })
    return new Map(await Promise.all(found))
  }

  #line(topic: string, partition: number): PartitionLine {
    const name = `${topic}/${partition}`
    const line = this.#lines.get(name) ?? new PartitionLine(topic, partition, this.#options)
    this.#lines.set(name, line)
    return line
  }
}

function unsendable(topic: string, error: unknown): OncewardError {
  if (error instanceof OncewardError && error.details.kafka === 'UNKNOWN_TOPIC_OR_PARTITION') {
    return new OncewardError(
      'publish_unroutable',
      `Topic ${topic} does not exist, or this user is not allowed to see it. The record was not sent. Create the topic, then publish again.`,
      { cause: error, details: { topic } },
    )
  }
  return toOncewardError(
    error,
    `Publishing to topic ${topic}`,
    'Nothing was sent; try again under the same ids.',
  )
}

/**
 * An idempotent producer: a retry never stores a record twice, and records of one partition keep their order.
 * The broker identifies it by a producer id. A line that abandoned a batch takes a new id; the other lines
 * keep theirs.
 */
export class KafkaProducer {
  readonly #connections: KafkaConnections
  readonly #lines: PartitionLines
  readonly #closed = new AbortController()
  #identity: ProducerIdentity | null = null
  #asking: Promise<ProducerIdentity> | null = null

  constructor(connections: KafkaConnections, options: ProducerOptions = {}) {
    this.#connections = connections
    this.#lines = new PartitionLines({
      connections,
      session: {
        current: () => this.#current(),
        giveUp: identity => this.#giveUp(identity),
      },
      compression: options.compression ?? 'none',
      deliveryTimeoutMs: options.deliveryTimeoutMs ?? 30_000,
      closed: this.#closed.signal,
    })
  }

  send(records: readonly TopicRecord[]): Promise<readonly RecordResult[]> {
    return this.#lines.send(records)
  }

  /** Unanswered records become unconfirmed. The connections stay open. */
  close(): void {
    this.#closed.abort()
  }

  async #current(): Promise<ProducerIdentity> {
    if (this.#identity !== null) return this.#identity
    this.#asking ??= this.#init().finally(() => {
      this.#asking = null
    })
    return this.#asking
  }

  async #init(): Promise<ProducerIdentity> {
    const [broker] = await this.#connections.brokers()
    const connection = await this.#connections.connect('produce', broker!)
    const { producerId, producerEpoch } = await initProducerIdV5.api.async(connection, null, 0)
    this.#identity = { producerId, producerEpoch, transactionalId: null }
    return this.#identity
  }

  #giveUp(identity: ProducerIdentity): void {
    if (this.#identity === identity) this.#identity = null
  }
}
