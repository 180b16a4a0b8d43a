import type { HeldRecord } from '../../../ports/held-record.ts'

/** Other tools read these headers. Ours are beside them, and the full record is in the held row. */
const textBytesMax = 2_000
const originsMax = 20

type Headers = Readonly<Record<string, unknown>>

/**
 * As RabbitMQ writes them when a queue dead-letters a message: the latest death first, the first one kept.
 */
export function rabbitDeath(original: Headers, held: HeldRecord, nowMs: number): Headers {
  const deaths = Array.isArray(original['x-death']) ? original['x-death'].slice(0, originsMax) : []
  const isThis = (death: unknown) => {
    const { queue, reason } = (death ?? {}) as { queue?: unknown; reason?: unknown }
    return queue === held.origin && reason === 'rejected'
  }
  const earlier = deaths.find(isThis) as { count?: unknown } | undefined
  const count = typeof earlier?.count === 'number' ? earlier.count + 1 : 1
  const death = {
    count,
    reason: 'rejected',
    queue: held.origin,
    time: { '!': 'timestamp', value: Math.floor(nowMs / 1_000) },
    exchange: '',
    'routing-keys': held.brokerKey === null ? [] : [held.brokerKey],
  }
  const first = {
    'x-first-death-queue': original['x-first-death-queue'] ?? held.origin,
    'x-first-death-reason': original['x-first-death-reason'] ?? 'rejected',
    'x-first-death-exchange': original['x-first-death-exchange'] ?? '',
  }
  return { 'x-death': [death, ...deaths.filter(one => !isThis(one))], ...first }
}

/**
 * As Spring for Kafka writes them: numbers as big-endian bytes. If a record was dead-lettered before, its
 * earlier origin stays under the same name and ours follows it, which is the one that readers use. The last
 * error replaces the one before.
 */
export function springDeadLetter(original: Headers, held: HeldRecord): Headers {
  const headers: Record<string, unknown> = {}
  const origin = originOf(held)
  for (const [name, bytes] of Object.entries(origin)) {
    const full = `kafka_dlt-original-${name}`
    const before = original[full]
    headers[full] = before === undefined ? stored(bytes) : [before, stored(bytes)].flat()
  }
  const error = held.error ?? held.reason
  headers['kafka_dlt-exception-fqcn'] = text(held.exception || held.code || held.failureClass)
  headers['kafka_dlt-exception-message'] = text(error)
  const at = held.place ? `\n\tat ${held.place}` : ''
  headers['kafka_dlt-exception-stacktrace'] = text(error.slice(0, textBytesMax / 2) + at)
  return headers
}

/** Parses `case-events/3@1207`; empty for any other form. */
function originOf({ position, properties }: HeldRecord): Record<string, Buffer> {
  const found = /^(.+)\/(\d+)@(\d+)$/s.exec(position ?? '')
  if (found === null) return {}
  const [, topic, partition, offset] = found
  const origin: Record<string, Buffer> = {
    topic: Buffer.from(topic!),
    partition: Buffer.alloc(4),
    offset: int64(BigInt(offset!)),
  }
  origin.partition!.writeInt32BE(Number(partition))
  const { timestampMs } = JSON.parse(properties) as { timestampMs?: unknown }
  if (typeof timestampMs !== 'number' || !Number.isSafeInteger(timestampMs)) return origin
  // It is not known whether the producer or the broker set it, so its type is left out.
  return { ...origin, timestamp: int64(BigInt(timestampMs)) }
}

function int64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(value)
  return bytes
}

function text(value: string): object {
  return stored(Buffer.from(value).subarray(0, textBytesMax))
}

/** As the stored JSON represents bytes. */
function stored(bytes: Buffer): object {
  return { $bytes: bytes.toString('base64') }
}
