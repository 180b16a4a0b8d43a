import { fromStoredJson } from '../message/stored-json.ts'
import type { Outgoing } from './outgoing.ts'
import type { TopicLimits } from './topic-limits.ts'

/**
 * The size of a message on the wire, measured before its row is written: a row that no broker accepts would
 * stay in the outbox. An AMQP client encodes headers in a buffer of 64 KiB, and the length of a name in one
 * byte. Some room is left for headers that a broker adds.
 */
export const amqpHeaderBytesMax = 60 * 1024
const amqpNameBytesMax = 255
/**
 * The limit for a copy on Kafka, with its key and headers, when the limit of its topic is unknown: below the
 * brokers' default (1 MiB a batch).
 */
export const kafkaRecordBytesMax = 800 * 1024
/** The default limit of a topic for one batch (`max.message.bytes`). */
export const kafkaBatchBytesMax = 1_048_588
/** Lengths, attributes, and the publisher's own headers with short values. */
const kafkaOverheadBytes = 1_024

type Sent = Pick<Outgoing, 'messageId' | 'key' | 'headers' | 'properties' | 'body'>

/** False when a client or broker could never accept it. Unknown brokers accept everything. */
export function fitsOnWire(
  broker: string,
  message: Sent & Pick<Outgoing, 'queue'>,
  limits?: TopicLimits,
): boolean {
  if (broker === 'rabbitmq') return amqpHeaderBytes(message) <= amqpHeaderBytesMax
  if (broker !== 'kafka') return true
  const fits = kafkaRecordBytes(message) <= (limits?.bytesMax(message.queue) ?? kafkaRecordBytesMax)
  if (!fits) limits?.doubt()
  return fits
}

/** A value nested too deeply for the stack is also too deep for the client's encoder. */
function withinStack(measure: () => number): number {
  try {
    return measure()
  } catch (error) {
    if (error instanceof RangeError) return Number.POSITIVE_INFINITY
    throw error
  }
}

/**
 * The encoded table of headers, with the properties that are too long for AMQP and travel as headers.
 * Infinity when a name is too long.
 */
export function amqpHeaderBytes({ messageId, headers, properties }: Omit<Sent, 'key' | 'body'>): number {
  // The text is shorter than the longest name, so no name is too long. No value grows by more than this
  // factor.
  const plain =
    headers.length <= amqpNameBytesMax
      ? headers.length * 3
      : withinStack(() => tableBytes(fromStoredJson(headers)))
  const long = Buffer.byteLength(messageId) + Buffer.byteLength(properties)
  return plain + (long <= amqpNameBytesMax ? 0 : long + 512)
}

export function kafkaRecordBytes({ messageId, key, headers, properties, body }: Sent): number {
  const texts = [messageId, key ?? '', properties].reduce((sum, text) => sum + Buffer.byteLength(text), 0)
  return body.length + texts + withinStack(() => headerValueBytes(headers)) + kafkaOverheadBytes
}

/**
 * Text values as they are sent. In the stored JSON the table of a retry copy is escaped once more, and the
 * name of a list occurs once.
 */
function headerValueBytes(headers: string): number {
  const stored = Buffer.byteLength(headers)
  if (stored <= 16 * 1024 && !headers.includes('[')) return stored
  let bytes = 0
  for (const [name, value] of Object.entries(fromStoredJson(headers)))
    for (const one of Array.isArray(value) ? value.flat(Number.POSITIVE_INFINITY) : [value])
      bytes += Buffer.byteLength(name) + 8 + valueBytes(one)
  return bytes
}

function valueBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  return value instanceof Uint8Array ? value.length : Buffer.byteLength(JSON.stringify(value) ?? '')
}

/** As the client encodes it: four bytes of length, then names and values with their types. */
export function tableBytes(table: object): number {
  let bytes = 4
  for (const [name, value] of Object.entries(table)) {
    if (value === undefined) continue
    const length = Buffer.byteLength(name)
    if (length > amqpNameBytesMax) return Number.POSITIVE_INFINITY
    bytes += 1 + length + fieldBytes(value)
  }
  return bytes
}

function fieldBytes(value: unknown): number {
  switch (typeof value) {
    case 'string':
      return 5 + Buffer.byteLength(value)
    case 'number':
      return numberBytes(value)
    case 'boolean':
      return 2
    default:
      return value === null || value === undefined ? 1 : objectBytes(value as object)
  }
}

/** Typed values (`{ '!': 'timestamp', … }`) take nine bytes at most; counted as a table they take more. */
function objectBytes(value: object): number {
  if (value instanceof Uint8Array) return 5 + value.length
  if (!Array.isArray(value)) return 1 + tableBytes(value)
  return value.reduce((sum: number, one) => sum + fieldBytes(one), 5)
}

function numberBytes(value: number): number {
  if (!Number.isInteger(value) || value >= 2 ** 63) return 9
  if (value >= -128 && value < 128) return 2
  if (value >= -0x8000 && value < 0x8000) return 3
  return value >= -0x80000000 && value < 0x80000000 ? 5 : 9
}
