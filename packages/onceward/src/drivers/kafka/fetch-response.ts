import { errorText } from '../../errors.ts'
import { type Connection, fetchV17, type Reader } from './client/wire.ts'

/** A leader's answer about one partition; its record set is not decoded yet. */
export interface FetchedPartition {
  readonly topicId: string
  readonly partition: number
  readonly errorCode: number
  readonly highWatermark: bigint
  /** Records from this offset on belong to transactions that are still open. */
  readonly lastStableOffset: bigint
  readonly logStartOffset: bigint
  readonly aborted: readonly AbortedTransaction[]
  /** Where this leader's log diverges from the log that was read; null when it does not. */
  readonly diverging: { readonly epoch: number; readonly endOffset: bigint } | null
  readonly records: Buffer
}

export interface AbortedTransaction {
  readonly producerId: bigint
  readonly firstOffset: bigint
}

export interface FetchAnswer {
  readonly errorCode: number
  readonly partitions: readonly FetchedPartition[]
}

export interface FetchRequest {
  readonly maxWaitMs: number
  readonly bytesMax: number
  readonly isolation: 'committed' | 'uncommitted'
  readonly topicId: string
  readonly partitions: readonly {
    readonly partition: number
    readonly currentLeaderEpoch: number
    readonly fetchOffset: bigint
    readonly lastFetchedEpoch: number
    readonly partitionMaxBytes: number
  }[]
}

/**
 * One fetch without a session: two concurrent fetches of one session break it. The client library's parser
 * discards all partitions when one has an error. It also checks no CRC and leaks records of aborted
 * transactions. This parser replaces it.
 */
export function fetchRecords(connection: Connection, request: FetchRequest): Promise<FetchAnswer> {
  const { maxWaitMs, bytesMax, isolation, topicId, partitions } = request
  const create = () =>
    fetchV17.createRequest(
      maxWaitMs,
      1,
      bytesMax,
      isolation === 'committed' ? 1 : 0,
      0,
      -1,
      [{ topicId, partitions: [...partitions] }],
      [],
      '',
    )
  const { promise, resolve, reject } = Promise.withResolvers<FetchAnswer>()
  connection.send(
    1,
    17,
    create,
    (_id, _key, _version, reader) => parseFetch(reader),
    true,
    true,
    (error, answer) => (error === null || error === undefined ? resolve(answer!) : reject(error)),
  )
  return promise
}

/** Parses a fetch response, version 17. Throws a RangeError for bytes that are not a whole one. */
export function parseFetch(reader: Reader): FetchAnswer {
  try {
    return readFetch(reader)
  } catch (error) {
    if (error instanceof RangeError) throw error
    // The client library's reader fails in several ways at the end of its bytes, one of them a TypeError.
    throw new RangeError(`a fetch response that ends early: ${errorText(error, 200)}`, { cause: error })
  }
}

function readFetch(reader: Reader): FetchAnswer {
  reader.readInt32() // throttle time
  const errorCode = reader.readInt16()
  reader.readInt32() // session
  const partitions: FetchedPartition[] = []
  reader.readArray(topicReader => {
    const topicId = topicReader.readUUID()
    topicReader.readArray(one => void partitions.push(parsePartition(one, topicId)), true, false)
  })
  return { errorCode, partitions }
}

function parsePartition(reader: Reader, topicId: string): FetchedPartition {
  const partition = reader.readInt32()
  const errorCode = reader.readInt16()
  const highWatermark = reader.readInt64()
  const lastStableOffset = reader.readInt64()
  const logStartOffset = reader.readInt64()
  const aborted = reader.readNullableArray(one => ({
    producerId: one.readInt64(),
    firstOffset: one.readInt64(),
  }))
  reader.readInt32() // preferred read replica: the request names no rack
  const records = readRecords(reader)
  let diverging: FetchedPartition['diverging'] = null
  readTags(reader, tag => {
    if (tag === 0) diverging = { epoch: reader.readInt32(), endOffset: reader.readInt64() }
  })
  return {
    topicId,
    partition,
    errorCode,
    highWatermark,
    lastStableOffset,
    logStartOffset,
    aborted: aborted ?? [],
    diverging,
    records,
  }
}

const noBytes = Buffer.alloc(0)

function readRecords(reader: Reader): Buffer {
  const length = reader.readUnsignedVarInt() - 1
  if (length <= 0) return noBytes
  if (length > reader.remaining) throw new RangeError(`record set of ${length} bytes in ${reader.remaining}`)
  const records = reader.buffer.slice(reader.position, reader.position + length)
  reader.skip(length)
  return records
}

/** Each tag is skipped by its own length, regardless of how much of it was read. */
function readTags(reader: Reader, read: (tag: number) => void): void {
  for (let count = reader.readUnsignedVarInt(); count > 0; count--) {
    const tag = reader.readUnsignedVarInt()
    const length = reader.readUnsignedVarInt()
    if (length > reader.remaining) throw new RangeError(`tag of ${length} bytes in ${reader.remaining}`)
    const end = reader.position + length
    read(tag)
    reader.skip(end - reader.position)
  }
}
