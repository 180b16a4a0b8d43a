import { bareMap, emptyMap } from '../../message/bare-map.ts'
import { readFieldTable } from './field-table.ts'

/** The part of the client library's connection that reads frames; `rest` is the unread input. */
export interface AmqpFrameReader {
  rest: Buffer
  recvFrame(): unknown
}

const headerFrame = 2
const [contentTypeBit, contentEncodingBit, headersBit] = [0x8000, 0x4000, 0x2000]
/** A frame's own bytes: type, channel and size before its content, one after it. */
const [frameHead, frameTail] = [7, 1]
/** After those: class, weight and size of the body. */
const flagsAt = frameHead + 12

/**
 * Reads header tables instead of the client library, which receives the frame without them. The library's
 * tables have prototypes that a header named `__proto__` replaces. It parses them recursively, and a
 * publisher may nest 8,000 of them in 48 kB. The library then closed the connection, the broker redelivered
 * the message on the next one, and no message behind it was ever read.
 */
export function readHeadersOurselves(reader: AmqpFrameReader): void {
  const read = reader.recvFrame
  reader.recvFrame = () => {
    const bytes = reader.rest
    const table = findTable(bytes)
    if (table === null) return read.call(reader)
    const headers = headersOf(bytes, table)
    reader.rest = withoutTable(bytes, table)
    const answer = read.call(reader) as { fields: { headers: unknown } }
    answer.fields.headers = headers
    return answer
  }
}

interface TablePlace {
  readonly at: number
  readonly end: number
}

/** The position of the table, when a whole frame with one has arrived. */
function findTable(bytes: Buffer): TablePlace | null {
  if (bytes.length < flagsAt + 2 || bytes[0] !== headerFrame) return null
  const frameEnd = frameHead + bytes.readUInt32BE(3) + frameTail
  if (bytes.length < frameEnd) return null
  const flags = bytes.readUInt16BE(flagsAt)
  if ((flags & headersBit) === 0) return null
  let at = flagsAt + 2
  for (const bit of [contentTypeBit, contentEncodingBit]) if ((flags & bit) !== 0) at += 1 + bytes[at]!
  const end = at + 4 + bytes.readUInt32BE(at)
  return end > frameEnd - frameTail ? null : { at, end }
}

/**
 * Moves what is before the table over it: the bytes are those of this frame alone, and nothing else reads
 * them again. A copy of the frame costs four more views of the input for each message.
 */
function withoutTable(bytes: Buffer, { at, end }: TablePlace): Buffer {
  const size = bytes.readUInt32BE(3) - (end - at)
  const flags = bytes.readUInt16BE(flagsAt) & ~headersBit
  const rest = end - at
  bytes.copyWithin(rest, 0, at)
  bytes.writeUInt32BE(size, rest + 3)
  bytes.writeUInt16BE(flags, rest + flagsAt)
  return bytes.subarray(rest)
}

/** Most messages have no headers, in an empty table. */
function headersOf(bytes: Buffer, { at, end }: TablePlace): object {
  const first = at + 4
  if (first === end) return emptyMap
  // A copy: values that are bytes are parts of it, and the table is overwritten.
  const table = Buffer.from(bytes.subarray(first, end))
  try {
    return readFieldTable(table)
  } catch {
    return unreadable(table)
  }
}

/**
 * Replaces unreadable headers by a table nested deeper than any limit, so the message is set aside instead of
 * handled without headers.
 */
function unreadable(table: Buffer): object {
  const headers = bareMap()
  headers['onceward-unreadable'] = tooDeep
  headers['onceward-unreadable-bytes'] = table
  return headers
}

const tooDeep = nested(32)

function nested(levels: number): Record<string, unknown> {
  const headers = bareMap()
  if (levels > 0) headers['onceward-unreadable'] = nested(levels - 1)
  return headers
}
