import type { DeliveryFacts } from '../../contract/handler.ts'
import { type Codec, type ComparisonRequest, jsonCodec } from '../../message/codec.ts'
import type { Limits } from '../../message/limits.ts'
import { attributesIn } from './bindings.ts'
import { type Attributes, type CloudEvent, checkedAttributes, isJsonType } from './cloud-event.ts'
import { assertJsonFormat, fromJsonFormat, isStructured } from './json-format.ts'

/** Options of the codec for CloudEvents. */
export interface CloudEventsCodecOptions {
  /**
   * Reads the bytes of `data`, such as `avroCodec(…)`. Default: JSON for JSON types and without a type,
   * bytes for all others. Data inside a JSON event is already read.
   */
  readonly data?: Codec
}

/**
 * Reads CloudEvents 1.0 in structured and binary mode: headers of Kafka, AMQP and HTTP, and of queues in
 * PostgreSQL. A message that is not an event is undecodable.
 */
export function cloudEventsCodec({ data }: CloudEventsCodecOptions = {}): Codec {
  const read = (bytes: Buffer, limits: Limits, delivery: DeliveryFacts) => {
    const contentType = contentTypeOf(delivery)
    if (contentType !== undefined && isStructured(contentType)) {
      assertJsonFormat(contentType)
      const event = fromJsonFormat(jsonCodec.decode(bytes, limits, delivery))
      if (event.data === null) return eventOf(event.attributes, undefined)
      if ('json' in event.data) return eventOf(event.attributes, event.data.json)
      return withData(event.attributes, event.data.bytes, limits, delivery)
    }
    const attributes = attributesIn(delivery.headers, contentType)
    if (attributes === null)
      throw new TypeError('not a CloudEvent: neither its content type nor its headers say so')
    return withData(checkedAttributes(attributes), bytes, limits, delivery)
  }
  const withData = (
    attributes: Attributes,
    bytes: Buffer,
    limits: Limits,
    delivery: DeliveryFacts,
  ): CloudEvent | Promise<CloudEvent> => {
    const codec = data ?? (isJsonType(attributes.datacontenttype) ? jsonCodec : null)
    if (bytes.length === 0 && data === undefined) return eventOf(attributes, undefined)
    if (codec === null) return eventOf(attributes, bytes)
    const value = codec.decode(bytes, limits, delivery)
    return value instanceof Promise
      ? value.then(read => eventOf(attributes, read))
      : eventOf(attributes, value)
  }
  return {
    name: data === undefined ? 'cloudevents' : `cloudevents of ${data.name}`,
    ...(data?.waitMaxMs !== undefined && { waitMaxMs: data.waitMaxMs }),
    decode: read,
    ...(data?.knows !== undefined && {
      knows: (bytes: Buffer, limits: Limits, delivery: DeliveryFacts) =>
        data.knows!(dataIn(bytes, limits, delivery), limits, delivery),
    }),
    ...(data?.compare !== undefined && { compare: (request: ComparisonRequest) => data.compare!(request) }),
  }
}

/** A queue in PostgreSQL keeps what its producer wrote, also a number. */
function contentTypeOf({ properties: { contentType } }: DeliveryFacts): string | undefined {
  if (contentType === undefined || typeof contentType === 'string') return contentType
  throw new TypeError(`a content type of type ${typeof contentType}`)
}

function dataIn(bytes: Buffer, limits: Limits, delivery: DeliveryFacts): Buffer {
  if (!isStructured(contentTypeOf(delivery))) return bytes
  const { data } = fromJsonFormat(jsonCodec.decode(bytes, limits, delivery))
  return data !== null && 'bytes' in data ? data.bytes : bytes
}

function eventOf(attributes: Attributes, data: unknown): CloudEvent {
  return { ...attributes, ...(data !== undefined && { data }) } as unknown as CloudEvent
}
