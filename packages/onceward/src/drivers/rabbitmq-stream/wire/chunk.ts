import { crc32 } from 'node:zlib'
import { NotUnpacked, UnpacksTooLarge, unpackedBytesMax, unpackSubBatch } from './sub-batch.ts'

/** The unit that the broker stores and delivers: consecutive records that were written together. */
export interface Chunk {
  readonly firstOffset: number
  /** Number of records, those of sub-batches counted individually. */
  readonly records: number
  readonly timestampMs: number
  readonly entries: number
  /** Where the entries begin and end in the frame. */
  readonly frame: Buffer
  readonly begin: number
  readonly end: number
  /** Why its entries cannot be separated; null when they can. */
  readonly problem: string | null
  /** The bytes differ from those the broker wrote: another read may succeed. */
  readonly damaged: boolean
}

const userData = 0
const headerBytes = 48
const offsetMax = Number.MAX_SAFE_INTEGER - 2 ** 32
const subBatchBit = 0x80
const subBatchHeaderBytes = 11

/**
 * Reads a chunk's header and verifies its checksum and the sizes of its entries. Null for an internal chunk
 * of the broker.
 */
export function readChunk(frame: Buffer, at: number): Chunk | null {
  const begin = at + headerBytes
  if (begin > frame.length || frame.readUInt8(at) >> 4 !== 5) throw new Error('an unreadable chunk')
  if (frame.readUInt8(at + 1) !== userData) return null
  const firstOffset = Number(frame.readBigUInt64BE(at + 24))
  // Beyond it two records would have one offset. The checksum does not cover the header.
  if (firstOffset > offsetMax) throw new Error('an unreadable chunk')
  const stated = begin + frame.readUInt32BE(at + 36)
  const chunk = {
    firstOffset,
    records: frame.readUInt32BE(at + 4),
    timestampMs: Number(frame.readBigInt64BE(at + 8)),
    entries: frame.readUInt16BE(at + 2),
    frame,
    begin,
    end: Math.min(stated, frame.length),
  }
  if (stated > frame.length)
    return { ...chunk, problem: `${stated - frame.length} bytes of it are missing`, damaged: true }
  if (crc32(frame.subarray(begin, stated)) !== frame.readUInt32BE(at + 32))
    return { ...chunk, problem: 'its checksum does not match its bytes', damaged: true }
  return Object.assign(chunk, { problem: entriesProblem(chunk), damaged: false })
}

/** Reads only the sizes, before any delivery: a wrong count would shift all following offsets. */
function entriesProblem({ frame, begin, end, entries, records }: Omit<Chunk, 'problem' | 'damaged'>) {
  let at = begin
  let counted = 0
  for (let entry = 1; entry <= entries; entry++) {
    const isBatch = at < end && frame[at]! >= subBatchBit
    const head = isBatch ? subBatchHeaderBytes : 4
    if (at + head > end) return `entry ${entry} of ${entries} is missing`
    counted += isBatch ? frame.readUInt16BE(at + 1) : 1
    at += head + frame.readUInt32BE(isBatch ? at + 7 : at)
    if (at > end) return `entry ${entry} of ${entries} runs ${at - end} bytes past it`
  }
  if (at < end) return `${end - at} bytes follow its last entry`
  return counted === records ? null : `its header counts ${records} records, its entries ${counted}`
}

export interface ChunkListener {
  onRecord(offset: number, bytes: Buffer): void
  /** An unreadable part takes the offsets of its records. */
  onBroken(offset: number, records: number, bytes: Buffer, problem: string): void
}

/**
 * Calls back for every record from `from` on, in order: chunks begin where the writer began, not where a
 * reader asked. Returns where to resume, because a chunk of a megabyte may unpack to thousands. The declared
 * sizes of sub-batches are added up before they are unpacked. One that would exceed `portionBytesMax` is left
 * for the next portion, unless it is the first. Actual sizes are added up as well, and unpacking stops at the
 * limit.
 */
export function eachRecord(
  chunk: Chunk,
  from: number,
  listener: ChunkListener,
  portionBytesMax = Number.POSITIVE_INFINITY,
): number {
  const { frame, entries, firstOffset, records: all } = chunk
  const first = Math.max(from, firstOffset)
  if (chunk.problem !== null) {
    const left = firstOffset + all - first
    if (left > 0) listener.onBroken(first, left, frame.subarray(chunk.begin, chunk.end), chunk.problem)
    return firstOffset + all
  }
  let at = chunk.begin
  let offset = firstOffset
  let held = 0
  for (let entry = 0; entry < entries; entry++) {
    const type = frame[at]!
    if (type < subBatchBit) {
      const next = at + 4 + frame.readUInt32BE(at)
      if (offset >= from) listener.onRecord(offset, frame.subarray(at + 4, next))
      offset++
      at = next
      continue
    }
    const records = frame.readUInt16BE(at + 1)
    const next = at + subBatchHeaderBytes + frame.readUInt32BE(at + 7)
    // A sub-batch that declares no record has no offset: kept, it would take that of the record after it.
    if (records > 0 && offset + records > from) {
      const packed = frame.subarray(at, next)
      if (held > 0 && held + statedBytes(packed) > Math.min(portionBytesMax, unpackedBytesMax - 1))
        return offset
      const unpacked = eachPacked(packed, offset, from, listener, held)
      if (unpacked === null) return offset
      held += unpacked
    }
    offset += records
    at = next
  }
  return offset
}

/** A sub-batch that is not packed is read in its frame. */
const isPacked = (entry: Buffer) => (entry[0]! & 0x70) !== 0
const statedBytes = (entry: Buffer) => (isPacked(entry) ? entry.readUInt32BE(3) : 0)

/**
 * A sub-batch with any error delivers no record. Returns the maximum bytes needed to unpack it, also when
 * that failed. Returns null when it does not fit in addition to the `held` bytes and must be unpacked alone.
 */
function eachPacked(
  entry: Buffer,
  firstOffset: number,
  from: number,
  listener: ChunkListener,
  held: number,
): number | null {
  const records = entry.readUInt16BE(1)
  const first = Math.max(from, firstOffset)
  const method = (entry[0]! & 0x70) >> 4
  let bytes: Buffer
  try {
    const left = unpackedBytesMax - held
    bytes = unpackSubBatch(method, entry.subarray(subBatchHeaderBytes), entry.readUInt32BE(3), left)
    assertRecords(bytes, records)
  } catch (error) {
    if (error instanceof UnpacksTooLarge && held > 0) return null
    listener.onBroken(first, firstOffset + records - first, entry, (error as Error).message)
    return !isPacked(entry) || error instanceof NotUnpacked ? 0 : unpackedBytesMax
  }
  for (let index = 0, at = 0; index < records; index++) {
    const next = at + 4 + bytes.readUInt32BE(at)
    if (firstOffset + index >= from) listener.onRecord(firstOffset + index, bytes.subarray(at + 4, next))
    at = next
  }
  return isPacked(entry) ? bytes.length : 0
}

function assertRecords(bytes: Buffer, records: number): void {
  let at = 0
  for (let record = 1; record <= records; record++) {
    if (at + 4 > bytes.length) throw new RangeError(`record ${record} of ${records} is missing`)
    at += 4 + bytes.readUInt32BE(at)
    if (at > bytes.length) throw new RangeError(`record ${record} of ${records} runs past its sub-batch`)
  }
  if (at < bytes.length) throw new RangeError(`${bytes.length - at} bytes follow its ${records} records`)
}
