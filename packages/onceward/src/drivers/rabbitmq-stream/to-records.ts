import { errorText } from '../../errors.ts'
import type { LogRecord } from '../../ports/log-record.ts'
import type { DeliveryProperties } from '../../ports/source.ts'
import { type BrokenPart, brokenRecord, keptBytesMax } from '../log/broken-record.ts'
import { readAmqpMessage, type StreamMessage } from './wire/amqp-message.ts'
import { type Chunk, eachRecord } from './wire/chunk.ts'

/** The records of a portion of a chunk. */
export interface Portion {
  readonly records: readonly LogRecord[]
  /** The next offset to read: the end of the chunk, or a sub-batch that is left for the next portion. */
  readonly next: number
  /** An unreadable part after the records that is too large to keep. Nothing after it was read. */
  readonly tooLarge: UnkeptPart | null
}

export type UnkeptPart = Pick<BrokenPart, 'offset' | 'records' | 'problem'>

/**
 * Unpacked bytes after which the rest of a chunk is left for later; a single sub-batch may have more, up to
 * the limit of a chunk.
 */
const portionBytesMax = 4 * 1024 * 1024

/**
 * The records of a chunk from `from` on, as many as may be unpacked at once. This process already delivered
 * those before `deliveredTo`.
 */
export function toRecords(
  chunk: Chunk,
  stream: string,
  from: number,
  deliveredTo: number,
  keptMax: number = keptBytesMax,
): Portion {
  const records: LogRecord[] = []
  let tooLarge: UnkeptPart | null = null
  const { timestampMs } = chunk
  const keep = (offset: number, count: number, bytes: Buffer, problem: string) => {
    const part = { partition: stream, offset, records: count, bytes, problem, timestampMs }
    if (tooLarge === null) records.push(brokenRecord({ ...part, redelivered: offset < deliveredTo }))
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
        records.push(new StreamRecord(message, stream, offset, offset < deliveredTo))
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

/** Converts to text on access: thousands of records are read ahead, and most are only applied. */
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
