import { isUtf8 } from 'node:buffer'
import { bareMap, emptyMap } from '../../message/bare-map.ts'
import type { LogRecord } from '../../ports/log-record.ts'
import type { DeliveryProperties } from '../../ports/source.ts'
import type { RawHeader, RawRecord } from './raw-record.ts'

const noBody = Buffer.alloc(0)

/** Adapts a Kafka record to the port. `partition` is its full name, as `case-events/3`. */
export function toLogRecord(record: RawRecord, partition: string, redelivered: boolean): LogRecord {
  return new KafkaRecord(record, partition, redelivered)
}

class KafkaRecord implements LogRecord {
  readonly redelivered: boolean
  readonly #raw: RawRecord
  readonly #partition: string
  #next: string | null = null
  #properties: DeliveryProperties | null = null

  constructor(raw: RawRecord, partition: string, redelivered: boolean) {
    this.redelivered = redelivered
    this.#raw = raw
    this.#partition = partition
  }

  get body(): Buffer {
    return this.#raw.value ?? noBody
  }

  get next(): string {
    return this.#next ?? String(this.#raw.offset + 1)
  }

  set next(next: string) {
    this.#next = next
  }

  get properties(): DeliveryProperties {
    this.#properties ??= propertiesOf(this.#raw)
    return this.#properties
  }

  get headers(): Readonly<Record<string, unknown>> {
    return this.#raw.headers.length === 0 ? emptyMap : headersOf(this.#raw.headers)
  }

  get key(): string | null {
    return this.#raw.key === null ? null : keyText(this.#raw.key)
  }

  get at(): string {
    return String(this.#raw.offset)
  }

  get position(): string {
    return `${this.#partition}@${this.#raw.offset}`
  }
}

/** Values stay bytes, as in Kafka. Of a repeated name the last one counts, as in Kafka's `lastHeader`. */
function headersOf(list: readonly RawHeader[]): Record<string, unknown> {
  const headers = bareMap()
  for (const [name, value] of list) headers[name] = value
  return headers
}

const marked = 'base64:'

/**
 * Marks a key that is not valid UTF-8, and a text that begins with the mark, so two keys never become one.
 */
function keyText(key: Buffer): string {
  const text = isUtf8(key) ? key.toString('utf8') : null
  return text === null || text.startsWith(marked) ? marked + key.toString('base64') : text
}

type MappedProperty = 'messageId' | 'correlationId' | 'type' | 'contentType' | 'contentEncoding' | 'appId'

/** Header names mapped to properties: those of Onceward's publisher, CloudEvents, and common spellings. */
const meanings: Readonly<Record<string, MappedProperty>> = {
  'message-id': 'messageId',
  messageId: 'messageId',
  message_id: 'messageId',
  ce_id: 'messageId',
  'correlation-id': 'correlationId',
  correlationId: 'correlationId',
  correlation_id: 'correlationId',
  type: 'type',
  'message-type': 'type',
  ce_type: 'type',
  'content-type': 'contentType',
  contentType: 'contentType',
  'content-encoding': 'contentEncoding',
  contentEncoding: 'contentEncoding',
  'app-id': 'appId',
  ce_source: 'appId',
}

function propertiesOf({ headers, timestampMs, value }: RawRecord): DeliveryProperties {
  const properties = bareMap<DeliveryProperties>()
  if (timestampMs >= 0) properties.timestampMs = timestampMs
  if (value === null) properties.tombstone = true
  for (const [name, bytes] of headers) {
    const meaning = Object.hasOwn(meanings, name) ? meanings[name] : undefined
    if (meaning !== undefined && bytes !== null) properties[meaning] = bytes.toString('utf8')
  }
  return properties
}
