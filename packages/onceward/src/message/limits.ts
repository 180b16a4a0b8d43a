import type { Delivery } from '../ports/source.ts'

/** Limits of one message, checked before anything is parsed. */
export interface Limits {
  /** Size of the body as delivered. Default 1 MiB. */
  readonly bytesMax: number
  /** Nesting depth of a JSON body. Default 64. */
  readonly depthMax: number
  /** Object members in a JSON body. Default 100,000. */
  readonly keysMax: number
  /** Number of headers. Default 100. */
  readonly headersMax: number
  /** Size of header names and values together. Default 64 KiB. */
  readonly headerBytesMax: number
  /** Size of the body after decompression. Default 16 MiB. */
  readonly decompressedBytesMax: number
}

/** Which limit the delivery exceeds; null if none. */
export function overLimit(delivery: Delivery, limits: Limits): string | null {
  if (delivery.body.length > limits.bytesMax) {
    return `body of ${delivery.body.length} bytes, limit ${limits.bytesMax}`
  }
  const names = Object.keys(delivery.headers)
  if (names.length === 0) return null
  if (names.length > limits.headersMax) return `${names.length} headers, limit ${limits.headersMax}`
  let bytes = 0
  for (const name of names) {
    bytes += Buffer.byteLength(name) + headerBytes(delivery.headers[name], 1)
    if (bytes === Number.POSITIVE_INFINITY) return `header nested deeper than ${headerDepthMax}`
    if (bytes > limits.headerBytesMax) return `headers of more than ${limits.headerBytesMax} bytes`
  }
  return null
}

/** Nesting of header tables. No producer needs more, and every later step recurses. */
const headerDepthMax = 16

function headerBytes(value: unknown, depth: number): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (value instanceof Uint8Array) return value.length
  if (value === null || typeof value !== 'object') return 8
  if (depth >= headerDepthMax) return Number.POSITIVE_INFINITY
  let bytes = 0
  for (const [name, part] of Object.entries(value))
    bytes += Buffer.byteLength(name) + headerBytes(part, depth + 1)
  return bytes
}
