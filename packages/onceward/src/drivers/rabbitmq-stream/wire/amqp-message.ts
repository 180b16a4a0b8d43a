import { anyText } from '../../../errors.ts'
import { bareCopy, bareMap, emptyMap } from '../../../message/bare-map.ts'
import type { DeliveryProperties } from '../../../ports/source.ts'
import { AmqpReader } from './amqp-value.ts'

/** A record of a stream, with its body as stored. */
export interface StreamMessage {
  readonly body: Buffer
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: DeliveryProperties
  readonly key: string | null
}

const section = {
  header: 0x70,
  deliveryAnnotations: 0x71,
  messageAnnotations: 0x72,
  properties: 0x73,
  applicationProperties: 0x74,
  data: 0x75,
  sequence: 0x76,
  value: 0x77,
  footer: 0x78,
} as const

const none: Readonly<Record<string, unknown>> = emptyMap

/**
 * Splits an AMQP 1.0 message into its sections; the body is not decoded. The broker does not inspect records,
 * so some are not AMQP messages. Such a record becomes a body without headers.
 */
export function readAmqpMessage(bytes: Buffer, timestampMs: number): StreamMessage {
  try {
    return readSections(bytes, timestampMs)
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    return { body: bytes, headers: none, properties: toProperties([], none, timestampMs), key: null }
  }
}

function readSections(bytes: Buffer, timestampMs: number): StreamMessage {
  const reader = new AmqpReader(bytes)
  let body: Buffer | null = null
  let annotations = none
  let headers = none
  let fields: readonly unknown[] = []
  while (!reader.done) {
    switch (reader.descriptor()) {
      case section.messageAnnotations:
        annotations = reader.map()
        break
      case section.properties:
        fields = reader.list()
        break
      case section.applicationProperties:
        headers = reader.map()
        break
      case section.data:
      case section.value:
      case section.sequence: {
        const part = readBody(reader)
        body = body === null ? part : Buffer.concat([body, part])
        break
      }
      case section.header:
      case section.deliveryAnnotations:
      case section.footer:
        reader.skip()
        break
      default:
        throw new RangeError('not a section of an AMQP 1.0 message')
    }
  }
  if (body === null) throw new RangeError('an AMQP 1.0 message without a body')
  const all = annotations === none ? headers : bareCopy(annotations, headers)
  return {
    body,
    headers: all,
    properties: toProperties(fields, annotations, timestampMs),
    key: keyOf(annotations),
  }
}

/** Bytes and texts as they are; any other value stays encoded, for the publisher's codec. */
function readBody(reader: AmqpReader): Buffer {
  const begin = reader.at
  const code = reader.bytes[begin]!
  reader.skip()
  if (reader.at > reader.bytes.length) throw new RangeError('a body longer than its message')
  const short = code === 0xa0 || code === 0xa1
  const long = code === 0xb0 || code === 0xb1
  return reader.bytes.subarray(short ? begin + 2 : long ? begin + 5 : begin, reader.at)
}

/** The properties section by position. The broker keeps other AMQP 0.9.1 properties as annotations. */
function toProperties(
  fields: readonly unknown[],
  annotations: Readonly<Record<string, unknown>>,
  timestampMs: number,
): DeliveryProperties {
  const to = bareMap<DeliveryProperties>()
  to.timestampMs = timestampMs
  if (annotations !== none) {
    const type = annotations['x-basic-type']
    if (typeof type === 'string') to.type = type
  }
  if (fields.length === 0) return to
  const [messageId, , , subject, , correlationId, contentType, contentEncoding, , createdMs, groupId] = fields
  if (isPresent(messageId)) to.messageId = toText(messageId)
  if (isPresent(correlationId)) to.correlationId = toText(correlationId)
  if (typeof subject === 'string' && to.type === undefined) to.type = subject
  if (isPresent(contentType)) to.contentType = toText(contentType)
  if (isPresent(contentEncoding)) to.contentEncoding = toText(contentEncoding)
  if (typeof createdMs === 'number') to.timestampMs = createdMs
  // The broker stores the app id of a record that came through an exchange here.
  if (typeof groupId === 'string' && 'x-exchange' in annotations) to.appId = groupId
  return to
}

/** The routing key of a record that came through an exchange. */
function keyOf(annotations: Readonly<Record<string, unknown>>): string | null {
  const key = annotations['x-routing-key']
  return typeof key === 'string' ? key : null
}

function isPresent(value: unknown): boolean {
  return value !== null && value !== undefined
}

function toText(value: unknown): string {
  return Buffer.isBuffer(value) ? value.toString('hex') : anyText(value)
}
