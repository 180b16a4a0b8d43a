import { gunzipSync, zstdDecompressSync } from 'node:zlib'

/**
 * Maximum unpacked bytes of one chunk in memory: publishers send frames of a megabyte, and text compresses to
 * a tenth.
 */
export const unpackedBytesMax = 64 * 1024 * 1024

/** Unpacking was not started: no memory was used. */
export class NotUnpacked extends RangeError {}
/** It exceeded the remaining limit. */
export class UnpacksTooLarge extends RangeError {}

const names = ['none', 'gzip', 'snappy', 'lz4', 'zstd']

/**
 * Unpacks a sub-batch. One whose declared size is too large is not started. One that grows too large despite
 * its declared size is stopped, because some clients write a wrong size. Node cannot read Snappy and LZ4.
 */
export function unpackSubBatch(
  method: number,
  packed: Buffer,
  statedBytes: number,
  maxOutputLength: number = unpackedBytesMax,
): Buffer {
  if (method === 0) return packed
  const name = names[method] ?? `method ${method}`
  const unpack = unpackers[method]
  if (unpack === undefined)
    throw new NotUnpacked(
      `it is packed with ${name}, which this process cannot unpack; publishers may use gzip, zstd (Node 22.15 or later) or none`,
    )
  if (statedBytes > unpackedBytesMax)
    throw new NotUnpacked(`it declares ${statedBytes} unpacked bytes, limit ${unpackedBytesMax}`)
  try {
    return unpack(packed, { maxOutputLength })
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ERR_BUFFER_TOO_LARGE')
      throw new UnpacksTooLarge(`it unpacks to more than ${maxOutputLength} bytes`, { cause: error })
    throw new RangeError(`it cannot be unpacked (${name}: ${message})`, { cause: error })
  }
}

const unpackers: Readonly<Record<number, typeof gunzipSync | undefined>> = {
  1: gunzipSync,
  // Absent before Node 22.15.
  4: zstdDecompressSync as typeof gunzipSync | undefined,
}
