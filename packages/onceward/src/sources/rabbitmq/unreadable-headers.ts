/** What of the client's connection reads frames; `rest` is what has come and is not read. */
export interface FrameReader {
  rest: Buffer
  recvFrame(): unknown
}

const headerFrame = 2
const [contentTypeBit, contentEncodingBit, headersBit] = [0x8000, 0x4000, 0x2000]
/** Behind a frame's own seven bytes: class, weight and size of the body. */
const flagsAt = 7 + 12
/** In place of headers nobody could read: deeper than any limit, so that the message is set aside and not taken for one without headers. */
const tooDeep: Readonly<Record<string, unknown>> = nested(32)

/**
 * The client takes header tables apart by calling itself, and a publisher may nest 8,000 of them in 48 kB. It then gave the connection up, the
 * broker handed the message over again on the next one, and nothing behind it was ever read. Such a frame is read without its headers.
 */
export function readWithoutHeaders(reader: FrameReader): void {
  const read = reader.recvFrame
  reader.recvFrame = () => {
    const before = reader.rest
    try {
      return read.call(reader)
    } catch (error) {
      const frame = cutHeaders(before.subarray(0, before.length - reader.rest.length))
      if (frame === null) throw error
      reader.rest = Buffer.concat([frame, reader.rest])
      const answer = read.call(reader) as { fields: { headers: unknown } }
      answer.fields.headers = tooDeep
      return answer
    }
  }
}

/** The frame without its table of headers; null when it has none. */
function cutHeaders(frame: Buffer): Buffer | null {
  if (frame[0] !== headerFrame) return null
  const flags = frame.readUInt16BE(flagsAt)
  if ((flags & headersBit) === 0) return null
  let at = flagsAt + 2
  for (const bit of [contentTypeBit, contentEncodingBit]) if ((flags & bit) !== 0) at += 1 + frame[at]!
  const after = at + 4 + frame.readUInt32BE(at)
  const cut = Buffer.concat([frame.subarray(0, at), frame.subarray(after)])
  cut.writeUInt32BE(frame.readUInt32BE(3) - (after - at), 3)
  cut.writeUInt16BE(flags & ~headersBit, flagsAt)
  return cut
}

function nested(levels: number): Record<string, unknown> {
  let headers: Record<string, unknown> = {}
  for (let level = 0; level < levels; level++) headers = { 'onceward-unreadable': headers }
  return headers
}
