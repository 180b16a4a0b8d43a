import { bareMap } from '../../message/bare-map.ts'
import { wideInteger } from '../../message/wide-integer.ts'

/** Nested tables are read recursively; the limits of a contract allow fewer levels. */
const depthMax = 64

/**
 * Reads an AMQP 0.9.1 field table into the client library's forms. The library itself writes a name
 * `__proto__` over the prototype of its table. Integers that a number cannot hold exactly keep their digits.
 * Throws on invalid bytes.
 */
export function readFieldTable(bytes: Buffer): Record<string, unknown> {
  return new TableReader(bytes).table(bytes.length, 1)
}

class TableReader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  table(end: number, depth: number): Record<string, unknown> {
    if (depth > depthMax) throw new RangeError(`tables nested deeper than ${depthMax}`)
    const table = bareMap()
    while (this.#at < end) {
      const name = this.#text(this.#bytes.readUInt8(this.#move(1)))
      table[name] = this.#value(depth)
    }
    this.#assertAt(end)
    return table
  }

  #value(depth: number): unknown {
    const bytes = this.#bytes
    const tag = String.fromCharCode(bytes.readUInt8(this.#move(1)))
    switch (tag) {
      case 'S':
        return this.#text(this.#length())
      case 'x':
        return this.#take(this.#length())
      case 'F':
        return this.table(this.#end(), depth + 1)
      case 'A':
        return this.#list(this.#end(), depth + 1)
      case 'V':
        return null
      case 't':
        return bytes.readUInt8(this.#move(1)) !== 0
      case 'T':
        return typed('timestamp', Number(bytes.readBigUInt64BE(this.#move(8))))
      case 'D':
        return typed('decimal', this.#decimal())
      default:
        return this.#number(tag)
    }
  }

  #number(tag: string): number | object {
    const bytes = this.#bytes
    switch (tag) {
      case 'b':
        return bytes.readInt8(this.#move(1))
      case 'B':
        return bytes.readUInt8(this.#move(1))
      case 's':
        return bytes.readInt16BE(this.#move(2))
      case 'u':
        return bytes.readUInt16BE(this.#move(2))
      case 'I':
        return bytes.readInt32BE(this.#move(4))
      case 'i':
        return bytes.readUInt32BE(this.#move(4))
      case 'l':
        return exact(bytes.readBigInt64BE(this.#move(8)))
      case 'd':
        return bytes.readDoubleBE(this.#move(8))
      case 'f':
        return bytes.readFloatBE(this.#move(4))
      default:
        throw new RangeError(`"${tag}" is not a field table type`)
    }
  }

  #list(end: number, depth: number): unknown[] {
    if (depth > depthMax) throw new RangeError(`lists nested deeper than ${depthMax}`)
    const items: unknown[] = []
    while (this.#at < end) items.push(this.#value(depth))
    this.#assertAt(end)
    return items
  }

  #decimal(): object {
    const decimal = bareMap()
    decimal.places = this.#bytes.readUInt8(this.#move(1))
    decimal.digits = this.#bytes.readUInt32BE(this.#move(4))
    return decimal
  }

  #length(): number {
    return this.#bytes.readUInt32BE(this.#move(4))
  }

  #end(): number {
    const length = this.#length()
    return this.#at + length
  }

  #text(length: number): string {
    const at = this.#move(length)
    this.#assertWithin()
    return this.#bytes.toString('utf8', at, this.#at)
  }

  #take(length: number): Buffer {
    const at = this.#move(length)
    this.#assertWithin()
    return this.#bytes.subarray(at, this.#at)
  }

  #move(length: number): number {
    const at = this.#at
    this.#at += length
    return at
  }

  #assertWithin(): void {
    if (this.#at > this.#bytes.length) throw new RangeError('a value is longer than its table')
  }

  #assertAt(end: number): void {
    if (this.#at !== end) throw new RangeError('a value ends past its table')
  }
}

function typed(type: string, value: unknown): object {
  const made = bareMap()
  made['!'] = type
  made.value = value
  return made
}

function exact(value: bigint): number | object {
  const number = Number(value)
  return Number.isSafeInteger(number) ? number : wideInteger(value)
}
