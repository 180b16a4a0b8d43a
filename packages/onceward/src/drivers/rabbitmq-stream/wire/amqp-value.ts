import { anyText } from '../../../errors.ts'
import { bareMap } from '../../../message/bare-map.ts'

/** Reads the values of AMQP 1.0's type system one after the other. Throws a RangeError on invalid bytes. */
export class AmqpReader {
  readonly bytes: Buffer
  at: number
  #entries = 0

  constructor(bytes: Buffer, at = 0) {
    this.bytes = bytes
    this.at = at
  }

  get done(): boolean {
    return this.at >= this.bytes.length
  }

  /** The numeric descriptor of a section; null when the next value is not described. */
  descriptor(): number | null {
    if (this.bytes[this.at] !== 0) return null
    this.at++
    const value = this.value()
    return typeof value === 'number' ? value : null
  }

  /**
   * Strings, numbers, booleans, bytes, lists and maps without prototypes. 64-bit integers beyond the exact
   * range of a number become text.
   */
  value(code = this.bytes.readUInt8(this.#move(1))): unknown {
    switch (code) {
      case 0x00: {
        this.value()
        return this.value()
      }
      case 0x40:
        return null
      case 0x41:
        return true
      case 0x42:
        return false
      case 0x56:
        return this.bytes.readUInt8(this.#move(1)) === 1
      case 0x43:
      case 0x44:
        return 0
      case 0x50:
      case 0x52:
      case 0x53:
        return this.bytes.readUInt8(this.#move(1))
      case 0x51:
      case 0x54:
      case 0x55:
        return this.bytes.readInt8(this.#move(1))
      case 0x60:
        return this.bytes.readUInt16BE(this.#move(2))
      case 0x61:
        return this.bytes.readInt16BE(this.#move(2))
      case 0x70:
        return this.bytes.readUInt32BE(this.#move(4))
      case 0x71:
        return this.bytes.readInt32BE(this.#move(4))
      case 0x72:
        return this.bytes.readFloatBE(this.#move(4))
      case 0x73:
        return String.fromCodePoint(this.bytes.readUInt32BE(this.#move(4)))
      case 0x80:
        return exact(this.bytes.readBigUInt64BE(this.#move(8)))
      case 0x81:
      case 0x83:
        return exact(this.bytes.readBigInt64BE(this.#move(8)))
      case 0x82:
        return this.bytes.readDoubleBE(this.#move(8))
      case 0x74:
        return this.#take(4)
      case 0x84:
        return this.#take(8)
      case 0x94:
        return this.#take(16)
      case 0x98:
        return uuid(this.#take(16))
      case 0xa0:
        return this.#take(this.bytes.readUInt8(this.#move(1)))
      case 0xb0:
        return this.#take(this.bytes.readUInt32BE(this.#move(4)))
      case 0xa1:
      case 0xa3:
        return this.#text(this.bytes.readUInt8(this.#move(1)))
      case 0xb1:
      case 0xb3:
        return this.#text(this.bytes.readUInt32BE(this.#move(4)))
      case 0x45:
        return []
      case 0xc0:
      case 0xd0:
        return this.#list(this.#count(code === 0xc0))
      case 0xc1:
      case 0xd1:
        return this.#map(this.#count(code === 0xc1))
      case 0xe0:
      case 0xf0:
        return this.#array(this.#count(code === 0xe0))
      default:
        throw new RangeError(`0x${code.toString(16)} is not an AMQP 1.0 type`)
    }
  }

  list(): readonly unknown[] {
    const value = this.value()
    if (!Array.isArray(value)) throw new RangeError('expected a list')
    return value
  }

  map(): Readonly<Record<string, unknown>> {
    const code = this.bytes.readUInt8(this.at)
    if (code !== 0xc1 && code !== 0xd1) throw new RangeError('expected a map')
    return this.value() as Record<string, unknown>
  }

  /** Skips the value without decoding it when its size precedes it. */
  skip(): void {
    const code = this.bytes.readUInt8(this.at)
    if (code >> 4 === 0xc || code >> 4 === 0xa) this.at += 2 + this.bytes.readUInt8(this.at + 1)
    else if (code >> 4 === 0xd || code >> 4 === 0xb) this.at += 5 + this.bytes.readUInt32BE(this.at + 1)
    else this.value()
  }

  /**
   * Number of entries of a compound, after its size. Without the limit, zero-width values could declare four
   * billion entries, or a few bytes could repeatedly declare as many as the message has bytes.
   */
  #count(short: boolean): number {
    const count = short ? this.bytes.readUInt8(this.#move(2) + 1) : this.bytes.readUInt32BE(this.#move(8) + 4)
    this.#entries += count
    if (this.#entries > this.bytes.length) throw new RangeError('more entries than bytes')
    return count
  }

  #list(count: number): unknown[] {
    const items: unknown[] = []
    for (let index = 0; index < count; index++) items.push(this.value())
    return items
  }

  #map(count: number): Record<string, unknown> {
    const map = bareMap()
    for (let index = 0; index < count; index += 2) {
      const name = anyText(this.value())
      map[name] = this.value()
    }
    return map
  }

  /** One constructor, then the bare values. */
  #array(count: number): unknown[] {
    const code = this.bytes.readUInt8(this.#move(1))
    if (code === 0) throw new RangeError('an array of described values')
    const items: unknown[] = []
    for (let index = 0; index < count; index++) items.push(this.value(code))
    return items
  }

  #take(length: number): Buffer {
    const at = this.#move(length)
    if (this.at > this.bytes.length) throw new RangeError('a value is longer than its message')
    return this.bytes.subarray(at, this.at)
  }

  #text(length: number): string {
    const at = this.#move(length)
    if (this.at > this.bytes.length) throw new RangeError('a value is longer than its message')
    return this.bytes.toString('utf8', at, this.at)
  }

  #move(length: number): number {
    const at = this.at
    this.at += length
    return at
  }
}

function exact(value: bigint): number | string {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : value.toString()
}

function uuid(bytes: Buffer): string {
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}
