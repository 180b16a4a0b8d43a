import { errorText } from '../../errors.ts'
import type { LogRecord } from '../../ports/log-record.ts'
import type { DeliveryProperties } from '../../ports/source.ts'
import { type BrokenPart, brokenRecord, keptBytesMax } from '../log/broken-record.ts'
import { readAmqpMessage, type StreamMessage } from './wire/amqp-message.ts'
import { type Chunk, eachRecord } from './wire/chunk.ts'

/** What a portion of a chunk holds. */
export interface Portion {
  readonly records: readonly LogRecord[]
  /** Where to read on: the end of the chunk, or before a sub-batch that is left for the next portion. */
  readonly next: number
  /**
   * Stands behind the records: a part that cannot be read, and is too large to be kept. Nothing behind it was
   * read.
   */
  readonly tooLarge: UnkeptPart | null
}

export type UnkeptPart = Pick<BrokenPart, 'offset' | 'records' | 'problem'>

/**
 * Unpacked bytes at which the rest of a chunk is left for later; a single sub-batch may have more, up to the
 * bound of a chunk.
 */
const portionBytesMax = 4 * 1024 * 1024

/**
 * The records of a chunk from `from` on, as many as may be unpacked at once. Those before `handedOver` were
 * handed over by this process already.
 */
export function toRecords(
  chunk: Chunk,
  stream: string,
  from: number,
  handedOver: number,
  keptMax: number = keptBytesMax,
): Portion {
  const records: LogRecord[] = []
  let tooLarge: UnkeptPart | null = null
  const { timestampMs } = chunk
  const keep = (offset: number, count: number, bytes: Buffer, problem: string) => {
    const part = { partition: stream, offset, records: count, bytes, problem, timestampMs }
    if (tooLarge === null) records.push(brokenRecord({ ...part, redelivered: offset < handedOver }))
  }
  const next = eachRecord(
    chunk,
    from,
    {
      onRecord(offset, bytes) {
        if (tooLarge !== null) return
        let message: StreamMessage
        try {
          message = readAmqpMessage(bytes, timestampMs)
        } catch (error) {
          return keep(offset, 1, bytes, errorText(error, 200))
        }
        records.push(new StreamRecord(message, stream, offset, offset < handedOver))
      },
      onBroken(offset, count, bytes, problem) {
        if (bytes.length <= keptMax) keep(offset, count, bytes, problem)
        else tooLarge ??= { offset, records: count, problem: `${problem}; it has ${bytes.length} bytes` }
      },
    },
    portionBytesMax,
  )
  return { records, next: tooLarge === null ? next : (tooLarge as UnkeptPart).offset, tooLarge }
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
