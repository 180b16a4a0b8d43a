import { type RawHeader, RawRecord } from './raw-record.ts'

/**
 * Reads records of format 2 one after the other. Every length is checked: one that is out of range throws a
 * RangeError.
 */
export class RecordReader {
  readonly #bytes: Buffer
  readonly #end: number
  #at: number

  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes
    this.#at = start
    this.#end = end
  }

  get remaining(): number {
    return this.#end - this.#at
  }

  /** `appendedMs`: when the broker appended the batch, for topics that use that time. */
  read(baseOffset: number, baseTimestampMs: number, appendedMs: number | null): RawRecord {
    const length = this.#varint()
    const end = this.#at + length
    if (length < 0 || end > this.#end) throw new RangeError(`record of ${length} bytes in ${this.remaining}`)
    this.#at++ // attributes: unused
    const createdMs = baseTimestampMs + this.#varlong()
    const offset = baseOffset + this.#varint()
    const keyLength = this.#varint()
    const keyAt = this.#at
    this.#skip(keyLength, end)
    const value = this.#nullable(end)
    const headers = this.#headers(end)
    if (this.#at !== end) throw new RangeError(`record of ${length} bytes ends at ${this.#at - end}`)
    const timestampMs = appendedMs ?? createdMs
    return new RawRecord(offset, timestampMs, value, headers, this.#bytes, keyAt, keyLength)
  }

  #headers(end: number): readonly RawHeader[] {
    const count = this.#varint()
    if (count === 0) return noHeaders
    if (count < 0 || count * 2 > end - this.#at)
      throw new RangeError(`${count} headers in ${end - this.#at} bytes`)
    const headers: RawHeader[] = []
    for (let index = 0; index < count; index++) {
      const name = this.#nullable(end)
      if (name === null) throw new RangeError('a header without a name')
      headers.push([name.toString('utf8'), this.#nullable(end)])
    }
    return headers
  }

  #nullable(end: number): Buffer | null {
    const length = this.#varint()
    if (length < 0) return null
    const start = this.#at
    this.#skip(length, end)
    return this.#bytes.subarray(start, this.#at)
  }

  #skip(length: number, end: number): void {
    if (length > end - this.#at) throw new RangeError(`${length} bytes in ${end - this.#at}`)
    if (length > 0) this.#at += length
  }

  #varint(): number {
    let value = 0
    for (let shift = 0; ; shift += 7) {
      const byte = this.#byte(shift, 28)
      value |= (byte & 127) << shift
      if (byte < 128) return (value >>> 1) ^ -(value & 1)
    }
  }

  /** Exact up to 2^53, far above any time in milliseconds. */
  #varlong(): number {
    let value = 0
    let factor = 1
    for (let shift = 0; ; shift += 7, factor *= 128) {
      const byte = this.#byte(shift, 63)
      value += (byte & 127) * factor
      if (byte < 128) return value % 2 === 0 ? value / 2 : -(value + 1) / 2
    }
  }

  #byte(shift: number, shiftMax: number): number {
    if (this.#at >= this.#end || shift > shiftMax) throw new RangeError('an unterminated number')
    return this.#bytes[this.#at++]!
  }
}

const noHeaders: readonly RawHeader[] = []
