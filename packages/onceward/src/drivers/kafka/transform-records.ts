import { errorText, OncewardError } from '../../errors.ts'
import { bareCopy } from '../../message/bare-map.ts'
import type { LogRecord } from '../../ports/log-record.ts'
import type { TopicRecord } from './client/producer.ts'
import { keyBytes } from './key-bytes.ts'

/** The input record of the function. */
export interface KafkaTransformInput {
  readonly topic: string
  readonly partition: number
  readonly offset: number
  readonly key: Buffer | null
  /** Null for a tombstone. */
  readonly value: Buffer | null
  /** Of a repeated name, the last value. */
  readonly headers: Readonly<Record<string, Buffer | null>>
  readonly timestampMs: number
}

/** An output record of the function. */
export interface KafkaTransformOutput {
  readonly topic: string
  /** Default: by key, as Java's default partitioner does. */
  readonly partition?: number
  readonly key?: Buffer | string | null
  /** Null for a tombstone. */
  readonly value: Buffer | string | null
  readonly headers?: Readonly<Record<string, Buffer | string | null>>
  /** Default: the timestamp of the input. */
  readonly timestampMs?: number
}

export function toInput(record: LogRecord, topic: string, partition: number): KafkaTransformInput {
  const { body, headers, properties, key, at } = record
  return {
    topic,
    partition,
    offset: Number(at),
    key: keyBytes(key),
    value: properties.tombstone === true ? null : body,
    headers: headers as KafkaTransformInput['headers'],
    timestampMs: properties.timestampMs ?? 0,
  }
}

export function toOutgoing(output: KafkaTransformOutput, input: KafkaTransformInput): TopicRecord {
  const { topic, partition, key = null, value, headers = {}, timestampMs = input.timestampMs } = output ?? {}
  if (typeof topic !== 'string' || topic === '' || !isContent(value) || !isContent(key)) {
    throw new OncewardError(
      'usage',
      'An output is { topic, value } with optional key and headers; key and value are text, bytes or null.',
    )
  }
  if (!isCount(timestampMs) || (partition !== undefined && !isCount(partition))) {
    throw new OncewardError(
      'usage',
      'The timestampMs and the partition of an output are whole numbers of at least 0.',
    )
  }
  return {
    topic,
    ...(partition === undefined ? {} : { partition }),
    key: toBytes(key),
    value: toBytes(value),
    headers: Object.entries(headers).map(([name, header]) => [name, toBytes(header)] as const),
    timestampMs,
  }
}

/**
 * The unchanged record with headers for the reason and its origin. Its timestamp is now, so retention does
 * not delete it as old.
 */
export function toDeadLetter(
  input: KafkaTransformInput,
  error: unknown,
  to: { readonly topic: string; readonly group: string },
): TopicRecord {
  const { topic, partition, offset, key, value, headers, timestampMs } = input
  const ours = {
    'onceward-consumer': to.group,
    'onceward-origin': topic,
    'onceward-position': `${topic}/${partition}@${offset}`,
    'onceward-timestamp': String(timestampMs),
    'onceward-reason': errorText(error, 500),
  }
  return {
    topic: to.topic,
    key,
    value,
    headers: Object.entries(bareCopy(headers, ours) as typeof headers).map(
      ([name, header]) => [name, toBytes(header)] as const,
    ),
    timestampMs: Date.now(),
  }
}

function isContent(value: unknown): value is Buffer | string | null {
  return value === null || typeof value === 'string' || value instanceof Uint8Array
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function toBytes(content: Buffer | string | null): Buffer | null {
  return typeof content === 'string' ? Buffer.from(content) : content
}
