import { errorText, OncewardError } from '../../errors.ts'
import { bareCopy } from '../../message/bare-map.ts'
import type { Delivery } from '../../ports/source.ts'
import type { KafkaTransformInput, KafkaTransformOutput } from '../../ports/transform.ts'
import type { TopicRecord } from './client/producer.ts'
import { keyBytes } from './key-bytes.ts'

export function toInput(delivery: Delivery): KafkaTransformInput {
  const { body, headers, properties, key, place, partition, origin } = delivery
  return {
    topic: origin,
    partition: Number(partition.slice(partition.lastIndexOf('/') + 1)),
    offset: Number(place!.at),
    key: keyBytes(key),
    value: properties.tombstone === true ? null : body,
    headers: headers as KafkaTransformInput['headers'],
    timestampMs: properties.timestampMs ?? 0,
  }
}

export function toOutgoing(
  output: KafkaTransformOutput,
  input: Pick<KafkaTransformInput, 'timestampMs'>,
): TopicRecord {
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
