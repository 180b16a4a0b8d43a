import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { compressionsAlgorithmsByBitmask } from './client/wire.ts'

/**
 * Maximum decompressed bytes of one batch. Brokers accept megabytes of compressed data, and JSON compresses
 * to a tenth.
 */
export const batchBytesMax = 64 * 1024 * 1024

/**
 * Decompresses the records of a batch. The size is computed before any byte is written, or the decoder
 * enforces the limit. Throws on malformed input.
 */
export function decompressRecords(codec: number, packed: Buffer, bytesMax: number = batchBytesMax): Buffer {
  switch (codec) {
    case 1:
      return gunzipSync(packed, { maxOutputLength: bytesMax })
    case 2:
      return decompressWasm(codec, packed, snappySize(packed), bytesMax)
    case 3:
      return decompressWasm(codec, packed, lz4Size(packed), bytesMax)
    case 4:
      return zstdDecompressSync(packed, { maxOutputLength: bytesMax })
    default:
      throw new RangeError(`unknown compression ${codec}`)
  }
}

function decompressWasm(codec: number, packed: Buffer, size: number, bytesMax: number): Buffer {
  if (size > bytesMax) throw new RangeError(`${size} bytes when decompressed, limit ${bytesMax}`)
  const records = compressionsAlgorithmsByBitmask[codec]!.decompressSync(packed) as Buffer
  if (records.length !== size) throw new RangeError(`decompressed to ${records.length} of ${size} bytes`)
  return records
}

const xerialMagic = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0])

/** Snappy stores the decompressed length first; Java's framing repeats it for every chunk. */
function snappySize(packed: Buffer): number {
  if (!packed.subarray(0, 8).equals(xerialMagic)) return snappyBlockSize(packed, 0)
  let size = 0
  for (let at = 16; at < packed.length; ) {
    const length = packed.readUInt32BE(at)
    size += snappyBlockSize(packed, at + 4)
    at += 4 + length
    if (at > packed.length) throw new RangeError('a snappy chunk reaches past the batch')
  }
  return size
}

function snappyBlockSize(packed: Buffer, start: number): number {
  let size = 0
  for (let at = start, factor = 1; at < start + 5; at++, factor *= 128) {
    const byte = packed.readUInt8(at)
    size += (byte & 127) * factor
    if (byte < 128) return size
  }
  throw new RangeError('an unterminated snappy length')
}

/** Walks an LZ4 frame without writing, because frames need not contain their decompressed length. */
export function lz4Size(frame: Buffer): number {
  if (frame.length < 7 || frame.readUInt32LE(0) !== 0x184d2204) throw new RangeError('not an LZ4 frame')
  const flags = frame[4]!
  const hasBlockChecksum = (flags & 0x10) !== 0
  let at = 7 + ((flags & 8) === 0 ? 0 : 8) + ((flags & 1) === 0 ? 0 : 4)
  let size = 0
  for (;;) {
    const head = frame.readUInt32LE(at)
    at += 4
    if (head === 0) return size
    const length = head & 0x7fffffff
    if (length > frame.length - at) throw new RangeError('an LZ4 block reaches past its frame')
    size += head >= 0x80000000 ? length : lz4BlockSize(frame, at, at + length)
    at += length + (hasBlockChecksum ? 4 : 0)
  }
}

/**
 * A block consists of literals and copies, each with a length of four bits that may continue in further
 * bytes.
 */
function lz4BlockSize(frame: Buffer, start: number, end: number): number {
  let size = 0
  for (let at = start; at < end; ) {
    const token = frame[at++]!
    let literals = token >> 4
    if (literals === 15) {
      for (let more = 255; more === 255; literals += more) more = frame.readUInt8(at++)
    }
    size += literals
    at += literals
    if (at >= end) break
    at += 2
    let copied = token & 15
    if (copied === 15) {
      for (let more = 255; more === 255; copied += more) more = frame.readUInt8(at++)
    }
    size += copied + 4
  }
  return size
}
