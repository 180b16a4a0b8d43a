/** Commands of the stream protocol; an answer has the same key with the highest bit set. */
export const command = {
  subscribe: 0x07,
  deliver: 0x08,
  credit: 0x09,
  storeOffset: 0x0a,
  queryOffset: 0x0b,
  unsubscribe: 0x0c,
  metadata: 0x0f,
  metadataUpdate: 0x10,
  peerProperties: 0x11,
  saslHandshake: 0x12,
  saslAuthenticate: 0x13,
  tune: 0x14,
  open: 0x15,
  close: 0x16,
  heartbeat: 0x17,
  partitions: 0x19,
  consumerUpdate: 0x1a,
  exchangeVersions: 0x1b,
  streamStats: 0x1c,
  createSuperStream: 0x1d,
} as const

export const answerBit = 0x8000

/** The broker's response codes, with the texts of its documentation. */
const codes: Readonly<Record<number, string>> = {
  1: 'ok',
  2: 'stream does not exist',
  3: 'subscription id already exists',
  4: 'subscription id does not exist',
  6: 'stream not available',
  7: 'SASL mechanism not supported',
  8: 'authentication failure',
  9: 'SASL error',
  11: 'authentication failure: this user may only connect from localhost',
  12: 'virtual host access failure',
  13: 'unknown frame',
  14: 'frame too large',
  15: 'internal error',
  16: 'access refused',
  17: 'precondition failed',
  19: 'no offset',
}

export const code = {
  ok: 1,
  streamDoesNotExist: 2,
  streamNotAvailable: 6,
  authenticationFailure: 8,
  loopbackOnly: 11,
  virtualHostAccess: 12,
  accessRefused: 16,
  noOffset: 19,
} as const

/** The broker refused a request. */
export class StreamRefusal extends Error {
  override readonly name = 'StreamRefusal'
  readonly code: number

  constructor(what: string, answered: number) {
    super(`${what}: ${codes[answered] ?? `code ${answered}`}`)
    this.code = answered
  }
}

/** Builds one frame; its size is filled in at the end. */
export class FrameWriter {
  #bytes = Buffer.allocUnsafe(256)
  #length = 4

  constructor(key: number, version = 1) {
    this.u16(key).u16(version)
  }

  u8(value: number): this {
    this.#room(1)
    this.#length = this.#bytes.writeUInt8(value, this.#length)
    return this
  }

  u16(value: number): this {
    this.#room(2)
    this.#length = this.#bytes.writeUInt16BE(value, this.#length)
    return this
  }

  u32(value: number): this {
    this.#room(4)
    this.#length = this.#bytes.writeUInt32BE(value, this.#length)
    return this
  }

  u64(value: bigint): this {
    this.#room(8)
    this.#length = this.#bytes.writeBigUInt64BE(value, this.#length)
    return this
  }

  text(value: string): this {
    const length = Buffer.byteLength(value)
    this.u16(length).#room(length)
    this.#length += this.#bytes.write(value, this.#length)
    return this
  }

  bytes(value: Buffer): this {
    this.u32(value.length).#room(value.length)
    this.#length += value.copy(this.#bytes, this.#length)
    return this
  }

  texts(values: Readonly<Record<string, string>>): this {
    const entries = Object.entries(values)
    this.u32(entries.length)
    for (const [name, value] of entries) this.text(name).text(value)
    return this
  }

  end(): Buffer {
    this.#bytes.writeUInt32BE(this.#length - 4, 0)
    return this.#bytes.subarray(0, this.#length)
  }

  #room(bytes: number): void {
    if (this.#length + bytes <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#length + bytes))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}

/** Reads one frame from its key on. Throws a RangeError when the frame is shorter than declared. */
export class FrameReader {
  readonly frame: Buffer
  #at: number

  constructor(frame: Buffer, at = 0) {
    this.frame = frame
    this.#at = at
  }

  get at(): number {
    return this.#at
  }

  u8(): number {
    return this.frame.readUInt8(this.#move(1))
  }

  u16(): number {
    return this.frame.readUInt16BE(this.#move(2))
  }

  u32(): number {
    return this.frame.readUInt32BE(this.#move(4))
  }

  u64(): bigint {
    return this.frame.readBigUInt64BE(this.#move(8))
  }

  i64(): bigint {
    return this.frame.readBigInt64BE(this.#move(8))
  }

  text(): string {
    const length = this.frame.readInt16BE(this.#move(2))
    if (length <= 0) return ''
    return this.frame.toString('utf8', this.#move(length), this.#at)
  }

  /** As many items as the leading count declares. */
  list<T>(read: () => T): T[] {
    const count = this.u32()
    const items: T[] = []
    for (let index = 0; index < count; index++) items.push(read())
    return items
  }

  #move(bytes: number): number {
    const at = this.#at
    this.#at += bytes
    return at
  }
}
