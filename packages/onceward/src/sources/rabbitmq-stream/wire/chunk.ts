import { crc32, gunzipSync, zstdDecompressSync } from 'node:zlib'
import { OncewardError } from '../../../errors.ts'

/** The unit the broker stores and hands over: records in a row that were written together. */
export interface Chunk {
  readonly firstOffset: number
  /** Records in it, those of sub-batches counted one by one. */
  readonly records: number
  readonly timestampMs: number
  readonly entries: number
  /** Where the entries begin and end in the frame. */
  readonly frame: Buffer
  readonly begin: number
  readonly end: number
}

const userData = 0
const headerBytes = 48
const recordOf = 0x80

/** Reads a chunk's header and checks its sum. Throws where the bytes are not what the broker wrote. */
export function readChunk(frame: Buffer, at: number): Chunk | null {
  const type = frame.readUInt8(at + 1)
  const begin = at + headerBytes
  const end = begin + frame.readUInt32BE(at + 36)
  if (frame.readUInt8(at) >> 4 !== 5 || end > frame.length) throw new Error('a chunk that cannot be read')
  if (type !== userData) return null
  const firstOffset = Number(frame.readBigUInt64BE(at + 24))
  if (crc32(frame.subarray(begin, end)) !== frame.readUInt32BE(at + 32))
    throw new Error(`the chunk at offset ${firstOffset} was damaged on its way: its sum does not match`)
  return {
    firstOffset,
    records: frame.readUInt32BE(at + 4),
    timestampMs: Number(frame.readBigInt64BE(at + 8)),
    entries: frame.readUInt16BE(at + 2),
    frame,
    begin,
    end,
  }
}

/** Calls back for every record from `from` on, in order: chunks begin where the writer began, not where a reader asked. */
export function eachRecord(
  chunk: Chunk,
  from: number,
  onRecord: (offset: number, bytes: Buffer) => void,
): void {
  const { frame, entries } = chunk
  let at = chunk.begin
  let offset = chunk.firstOffset
  for (let entry = 0; entry < entries; entry++) {
    const first = frame.readUInt8(at)
    if (first < recordOf) {
      const next = at + 4 + frame.readUInt32BE(at)
      if (offset >= from) onRecord(offset, frame.subarray(at + 4, next))
      offset++
      at = next
      continue
    }
    const records = frame.readUInt16BE(at + 1)
    const next = at + 11 + frame.readUInt32BE(at + 7)
    if (offset + records > from) {
      const packed = frame.subarray(at + 11, next)
      const bytes = unpack((first & 0x70) >> 4, packed)
      eachPacked(bytes, records, offset, from, onRecord)
    }
    offset += records
    at = next
  }
}

function eachPacked(
  bytes: Buffer,
  records: number,
  firstOffset: number,
  from: number,
  onRecord: (offset: number, bytes: Buffer) => void,
): void {
  let at = 0
  for (let index = 0; index < records; index++) {
    const next = at + 4 + bytes.readUInt32BE(at)
    if (firstOffset + index >= from) onRecord(firstOffset + index, bytes.subarray(at + 4, next))
    at = next
  }
}

/** Some clients write a wrong unpacked size beside the batch, so only this bounds it. */
const maxOutputLength = 256 * 1024 * 1024
const names = ['none', 'gzip', 'snappy', 'lz4', 'zstd']

/** A sub-batch as it was before its publisher packed it. Snappy and LZ4 are not among what Node can read. */
function unpack(method: number, packed: Buffer): Buffer {
  if (method === 0) return packed
  if (method === 1) return gunzipSync(packed, { maxOutputLength })
  if (method === 4 && typeof zstdDecompressSync === 'function')
    return zstdDecompressSync(packed, { maxOutputLength })
  throw new OncewardError(
    'configuration',
    `The stream holds sub-batches packed with ${names[method] ?? `method ${method}`}, which this process cannot unpack. Nothing of them was handed over or settled. Let publishers use gzip, zstd (Node 22.15 or later) or no compression.`,
  )
}
