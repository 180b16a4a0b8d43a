import type { DeliveryProperties } from '../../contracts/source.ts'
import type { LogRecord } from '../log/log-record.ts'
import { readAmqpMessage, type StreamMessage } from './wire/amqp-message.ts'
import { type Chunk, eachRecord } from './wire/chunk.ts'

/** The records of a chunk from `from` on. Those before `handedOver` were handed over by this process already. */
export function toRecords(chunk: Chunk, stream: string, from: number, handedOver: number): LogRecord[] {
  const records: LogRecord[] = []
  eachRecord(chunk, from, (offset, bytes) => {
    const message = readAmqpMessage(bytes, chunk.timestampMs)
    records.push(new StreamRecord(message, stream, offset, offset < handedOver))
  })
  return records
}

/** Texts are made for whoever asks: thousands of records are read ahead, and most are only applied. */
class StreamRecord implements LogRecord {
  readonly body: Buffer
  readonly headers: Readonly<Record<string, unknown>>
  readonly properties: DeliveryProperties
  readonly key: string | null
  readonly redelivered: boolean
  readonly #stream: string
  readonly #offset: number
  #next: string | null = null

  constructor(message: StreamMessage, stream: string, offset: number, redelivered: boolean) {
    this.body = message.body
    this.headers = message.headers
    this.properties = message.properties
    this.key = message.key
    this.redelivered = redelivered
    this.#stream = stream
    this.#offset = offset
  }

  get at(): string {
    return String(this.#offset)
  }

  get next(): string {
    return this.#next ?? String(this.#offset + 1)
  }

  set next(next: string) {
    this.#next = next
  }

  get position(): string {
    return `${this.#stream}@${this.#offset}`
  }
}
