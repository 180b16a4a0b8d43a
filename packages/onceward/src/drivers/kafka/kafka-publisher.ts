import { anyText, type OncewardError } from '../../errors.ts'
import { bareCopy } from '../../message/bare-map.ts'
import type { BrokerIdentity, DeliveryProperties } from '../../ports/source.ts'
import type { KafkaConnectionOptions } from './client/connection-options.ts'
import { KafkaConnections } from './client/connections.ts'
import { KafkaProducer, type ProducerOptions, type TopicRecord } from './client/producer.ts'
import { explainRefusals } from './explain-refusals.ts'
import { keyBytes } from './key-bytes.ts'
import { readTopicLimits } from './topic-limits.ts'

export interface KafkaPublisherOptions extends KafkaConnectionOptions {
  /** Default 10 s, from the call of `publish` to its last confirm. */
  readonly confirmTimeoutMs?: number
  readonly compression?: ProducerOptions['compression']
  /** Called with each cluster that is met, before anything is sent there. Where it rejects nothing is. */
  readonly onBroker?: ((broker: BrokerIdentity) => Promise<void>) | undefined
}

export interface KafkaOutgoingMessage {
  /** The topic. */
  readonly queue: string
  /** The same at every try; the header `message-id`. */
  readonly messageId: string
  /** Decides the partition, as Java's default partitioner does. Without one, any will do. */
  readonly key?: string | null
  readonly headers?: Readonly<Record<string, unknown>>
  readonly properties?: DeliveryProperties
  readonly body: Buffer
}

export type KafkaPublishResult = 'confirmed' | OncewardError

export interface KafkaPublisher {
  /**
   * Publishes with every in-sync replica's confirmation, and resolves when the brokers have answered for each
   * message or the time is up; results are in the order of the messages. Only `confirmed` means that the
   * topic has it. After an error the caller publishes again under the same message id: a copy may have
   * arrived. Never rejects.
   */
  publish(messages: readonly KafkaOutgoingMessage[]): Promise<readonly KafkaPublishResult[]>
  /** Resolves when a broker has answered. Rejects with an OncewardError. */
  connect(): Promise<void>
  /** `max.message.bytes` of each topic, or why the cluster does not say. Rejects where no broker answers. */
  readLimits(topics: readonly string[]): Promise<ReadonlyMap<string, number | Error>>
  /** Lets calls in progress fail as unconfirmed, and disconnects. Never rejects. */
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
      const records = messages.map(toRecord)
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
 * The record's time is when it is published: a copy of an old record under its old time would be the first
 * that retention takes. The original one becomes a header.
 */
function toRecord({
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

/** Bytes and text as they are; an array is the same name several times; anything else as JSON. */
function headerValues(value: unknown): (Buffer | null)[] {
  if (Array.isArray(value)) return value.flatMap(headerValues)
  if (value === null || value === undefined) return [null]
  if (value instanceof Uint8Array) return [Buffer.from(value)]
  return [Buffer.from(typeof value === 'object' ? JSON.stringify(value) : anyText(value))]
}
