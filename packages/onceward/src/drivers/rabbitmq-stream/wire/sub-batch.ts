import { gunzipSync, zstdDecompressSync } from 'node:zlib'

/**
 * Unpacked bytes of one chunk that may be in memory at once: publishers send frames of a megabyte, and text
 * shrinks to a tenth.
 */
export const unpackedBytesMax = 64 * 1024 * 1024

/** It was not begun: no memory was taken for it. */
export class NotUnpacked extends RangeError {}
/** It became larger than what was left for it. */
export class UnpacksTooLarge extends RangeError {}

const names = ['none', 'gzip', 'snappy', 'lz4', 'zstd']

/**
 * A sub-batch as it was before its publisher packed it. What says that it becomes too large is not begun;
 * what becomes too large although it says otherwise is stopped there, because some clients write a wrong
 * size. Snappy and LZ4 are not among what Node can read.
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
      `it is packed with ${name}, which this process cannot unpack: publishers may use gzip, zstd (Node 22.15 or later) or none`,
    )
  if (statedBytes > unpackedBytesMax)
    throw new NotUnpacked(`it says that it unpacks to ${statedBytes} bytes, limit ${unpackedBytesMax}`)
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
