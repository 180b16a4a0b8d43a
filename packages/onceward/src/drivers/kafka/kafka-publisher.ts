import { anyText, type OncewardError } from '../../errors.ts'
import { bareCopy } from '../../message/bare-map.ts'
import type { BrokerIdentity, DeliveryProperties } from '../../ports/source.ts'
import type { KafkaConnectionOptions } from './client/connection-options.ts'
import { KafkaConnections } from './client/connections.ts'
import { KafkaProducer, type ProducerOptions, type TopicRecord } from './client/producer.ts'
import { explainRefusals } from './explain-refusals.ts'
import { keyBytes } from './key-bytes.ts'
import { readTopicLimits } from './topic-limits.ts'

/** Where and how a publisher connects. */
export interface KafkaPublisherOptions extends KafkaConnectionOptions {
  /** Default 10 s, from the call of `publish` to its last confirmation. */
  readonly confirmTimeoutMs?: number
  readonly compression?: ProducerOptions['compression']
  /**
   * Called with the identity of each cluster before the first record is sent to it. If it rejects, nothing is
   * sent.
   */
  readonly onBroker?: ((broker: BrokerIdentity) => Promise<void>) | undefined
}

/** One message for Kafka. */
export interface KafkaOutgoingMessage {
  /** The topic. */
  readonly queue: string
  /** The same at every attempt; sent as the header `message-id`. */
  readonly messageId: string
  /** Selects the partition, as Java's default partitioner does. Without a key, any partition is used. */
  readonly key?: string | null
  readonly headers?: Readonly<Record<string, unknown>>
  readonly properties?: DeliveryProperties
  readonly body: Buffer
}

/** `confirmed`, or the error of this message. */
export type KafkaPublishResult = 'confirmed' | OncewardError

/** Publishes to Kafka as an idempotent producer. */
export interface KafkaPublisher {
  /**
   * Publishes with the confirmation of every in-sync replica, and resolves when the brokers have answered for
   * each message or the time is up. Results are in the order of the messages. Only `confirmed` means that the
   * topic has the record. After an error a copy may have arrived, so the caller publishes again under the
   * same message id. Never rejects.
   */
  publish(messages: readonly KafkaOutgoingMessage[]): Promise<readonly KafkaPublishResult[]>
  /** Resolves when a broker has answered. Rejects with an OncewardError. */
  connect(): Promise<void>
  /** `max.message.bytes` of each topic, or the error the cluster returned. Rejects when no broker answers. */
  readLimits(topics: readonly string[]): Promise<ReadonlyMap<string, number | Error>>
  /** Fails calls in progress as unconfirmed, and disconnects. Never rejects. */
  close(): Promise<void>
}

/** Connects on the first publish. */
export function createKafkaPublisher(options: KafkaPublisherOptions): KafkaPublisher {
  const { onBroker } = options
  const connections = new KafkaConnections(options, {}, async cluster =>
    onBroker?.({ kind: 'kafka', cluster }),
  )
  const producer = new KafkaProducer(connections, {
    deliveryTimeoutMs: options.confirmTimeoutMs ?? 10_000,
    compression: options.compression ?? 'none',
  })
  const readLimits = (topics: readonly string[]) => readTopicLimits(connections, topics)
  return {
    publish: async messages => {
      const records = messages.map(toTopicRecord)
      const results = await explainRefusals(await producer.send(records), records, readLimits)
      return results.map(result => (result instanceof Error ? result : 'confirmed'))
    },
    connect: async () => void (await connections.check()),
    readLimits,
    close: async () => {
      producer.close()
      await connections.close()
    },
  }
}

const propertyHeaders = {
  correlationId: 'correlation-id',
  type: 'message-type',
  contentType: 'content-type',
  contentEncoding: 'content-encoding',
  appId: 'app-id',
} as const

/**
 * The record's timestamp is the time of publishing, because retention would delete a copy with an old
 * timestamp first. The original timestamp becomes a header.
 */
export function toTopicRecord({
  queue,
  messageId,
  key,
  headers = {},
  properties = {},
  body,
}: KafkaOutgoingMessage): TopicRecord {
  const named = bareCopy(headers, { 'message-id': messageId })
  for (const [property, name] of Object.entries(propertyHeaders)) {
    const value = properties[property as keyof typeof propertyHeaders]
    if (value !== undefined) named[name] ??= value
  }
  if (properties.timestampMs !== undefined) named['onceward-timestamp'] ??= String(properties.timestampMs)
  const tombstone = properties.tombstone === true && body.length === 0
  return {
    topic: queue,
    key: keyBytes(key ?? null),
    value: tombstone ? null : body,
    headers: Object.entries(named).flatMap(([name, value]) =>
      headerValues(value).map(one => [name, one] as const),
    ),
    timestampMs: Date.now(),
  }
}

/** Bytes and text stay as they are; an array repeats the name; other values become JSON. */
function headerValues(value: unknown): (Buffer | null)[] {
  if (Array.isArray(value)) return value.flatMap(headerValues)
  if (value === null || value === undefined) return [null]
  if (value instanceof Uint8Array) return [Buffer.from(value)]
  return [Buffer.from(typeof value === 'object' ? JSON.stringify(value) : anyText(value))]
}
