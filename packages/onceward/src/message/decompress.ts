import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import type { Limits } from './limits.ts'
import { unreadableReason } from './unreadable-encoding.ts'

/** The body without its content encoding, bounded by the limit. Throws on an unknown encoding. */
export function decompress(body: Buffer, encoding: string | undefined, limits: Limits): Buffer {
  const unreadable = unreadableReason(encoding)
  if (unreadable !== null) throw new RangeError(unreadable)
  const options = { maxOutputLength: limits.decompressedBytesMax }
  switch (encoding?.toLowerCase()) {
    case undefined:
    case '':
    case 'identity':
    case 'utf-8': // a common mistake for a charset, harmless
      return body
    case 'gzip':
    case 'x-gzip':
      return gunzipSync(body, options)
    case 'deflate':
      return inflateSync(body, options)
    case 'br':
      return brotliDecompressSync(body, options)
    default:
      throw new RangeError(`unknown content encoding "${encoding}"`)
  }
}
