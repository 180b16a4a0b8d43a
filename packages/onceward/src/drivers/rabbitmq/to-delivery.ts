import type { ConsumeMessage, GetMessage, MessageProperties } from 'amqplib'
import { bareMap, emptyMap } from '../../message/bare-map.ts'
import { retryHeader } from '../../ports/retry-levels.ts'
import type { Delivery, DeliveryProperties } from '../../ports/source.ts'
import { readCount } from './read-count.ts'
import { asFirstDelivered } from './retry-copy.ts'

/** A tag is valid only on the channel that issued it: the epoch identifies that channel. */
export interface RabbitToken {
  readonly tag: number
  readonly epoch: number
  /** Issued by the channel that reads the dead-letter queue. */
  readonly deadLetter: boolean
}

/** `queue`: the consumer's queue; dead letters have another origin. */
export function toDelivery(
  message: ConsumeMessage | GetMessage,
  origin: string,
  { epoch, deadLetter }: Omit<RabbitToken, 'tag'>,
  queue: string = origin,
  key: string = message.fields.routingKey,
): Delivery {
  const headers = message.properties.headers ?? emptyMap
  const first = retryHeader in headers ? asFirstDelivered(headers, queue) : null
  return {
    body: message.content,
    headers: first?.headers ?? headers,
    properties: first?.properties ?? toProperties(message.properties),
    origin,
    position: null,
    partition: '',
    place: null,
    key: first?.key ?? key,
    redelivered: message.fields.redelivered,
    deliveryCount: Math.max(readCount(headers['x-delivery-count']), readCount(headers['x-acquired-count'])),
    token: { tag: message.fields.deliveryTag, epoch, deadLetter } satisfies RabbitToken,
  }
}

function toProperties(from: MessageProperties): DeliveryProperties {
  const to = bareMap<DeliveryProperties>()
  if (from.messageId !== undefined) to.messageId = from.messageId
  if (from.correlationId !== undefined) to.correlationId = from.correlationId
  if (from.type !== undefined) to.type = from.type
  if (from.contentType !== undefined) to.contentType = from.contentType
  if (from.contentEncoding !== undefined) to.contentEncoding = from.contentEncoding
  if (from.appId !== undefined) to.appId = from.appId
  if (from.timestamp !== undefined) to.timestampMs = toMs(from.timestamp)
  return to
}

/**
 * AMQP uses seconds, but many publishers set milliseconds. No count of seconds reaches 10^11 before the year
 * 5138.
 */
function toMs(timestamp: number): number {
  return timestamp < 1e11 ? timestamp * 1_000 : timestamp
}
