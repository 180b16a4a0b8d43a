/** Reads numbers of variable length; every read is within the bytes, or throws a RangeError. */
export class VarintReader {
  readonly #bytes: Uint8Array
  #at: number

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes
    this.#at = at
  }

  get at(): number {
    return this.#at
  }

  /** An unsigned number of at most 32 bits. */
  unsigned(): number {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#bytes[this.#at]
      if (byte === undefined) throw new RangeError('a number ends after the last byte')
      this.#at++
      value += (byte & 0x7f) * 2 ** shift
      if (byte >= 0x80) continue
      if (value > 0xffff_ffff) break
      return value
    }
    throw new RangeError('a number of more than 32 bits')
  }

  /** A signed number of at most 32 bits, in zigzag form. */
  signed(): number {
    const value = this.unsigned()
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }
}

export function writeSigned(value: number): readonly number[] {
  let rest = value < 0 ? -value * 2 - 1 : value * 2
  const bytes: number[] = []
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) | 0x80)
    rest = Math.floor(rest / 0x80)
  }
  return [...bytes, rest]
}
