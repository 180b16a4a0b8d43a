/** Changes the broker's answers on their way, in place. Each is found by its layout, which fits no other. */

export interface SeemingEnd {
  readonly topic: string
  readonly partition: number
  readonly end: number
}

/** Of one partition in an answer: its length, and the places of its index and of the offset within it. */
const layouts = [
  // ListOffsets 9: index, error, timestamp, offset, leader epoch, tags
  { length: 27, indexAt: 0, offsetAt: 14 },
  // OffsetForLeaderEpoch 4: error, index, leader epoch, end offset, tags
  { length: 19, indexAt: 2, offsetAt: 10 },
] as const

/** Length, correlation id, tags, throttle time and the number of topics, before a topic's name. */
const beforeName = 4 + 4 + 1 + 4 + 1 + 1

/** Every offset of the partition beyond `end` becomes `end`. */
export function withEnd(bytes: Buffer, { topic, partition, end }: SeemingEnd): Buffer {
  for (let at = bytes.indexOf(topic); at >= 0; at = bytes.indexOf(topic, at + 1)) {
    const start = at - beforeName
    if (start < 0) continue
    const afterName = at + topic.length
    const count = bytes[afterName]! - 1
    const length = bytes.readInt32BE(start) - (beforeName - 4) - topic.length - 1 - 2
    const layout = layouts.find(one => one.length * count === length)
    if (layout === undefined) continue
    for (let index = 0; index < count; index++) {
      const place = afterName + 1 + index * layout.length
      if (bytes.readInt32BE(place + layout.indexAt) !== partition) continue
      if (bytes.readBigInt64BE(place + layout.offsetAt) > BigInt(end))
        bytes.writeBigInt64BE(BigInt(end), place + layout.offsetAt)
    }
  }
  return bytes
}

/** Length, correlation id, tags, throttle time, error, session and the number of topics, before a topic's id. */
const beforeId = 4 + 4 + 1 + 4 + 2 + 4 + 1

/** The first partition of each Fetch answer has this error. False when there is none. */
export function failFetch(bytes: Buffer, topicId: string, code: number): boolean {
  const id = Buffer.from(topicId.replaceAll('-', ''), 'hex')
  let found = false
  for (let at = bytes.indexOf(id); at >= 0; at = bytes.indexOf(id, at + 1)) {
    // Metadata has the id as well, and other lengths before it.
    if (at < beforeId || bytes.readInt32BE(at - 5) !== 0 || bytes[at - 1] !== 2) continue
    bytes.writeInt16BE(code, at + 16 + 1 + 4)
    found = true
  }
  return found
}
