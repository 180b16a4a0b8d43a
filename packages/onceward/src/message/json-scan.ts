import type { Limits } from './limits.ts'

const quote = 0x22
const backslash = 0x5c

type JsonLimits = Pick<Limits, 'depthMax' | 'keysMax'>

/**
 * True if the text is too short to hold more members than allowed, and has no more brackets than may nest.
 * The full scan is then unnecessary (0.1 against 0.9 us).
 */
export function isPlainlyWithin(text: string, { depthMax, keysMax }: JsonLimits): boolean {
  if (text.length > keysMax) return false
  let brackets = 0
  for (let at = text.indexOf('{'); at >= 0; at = text.indexOf('{', at + 1)) {
    if (++brackets > depthMax) return false
  }
  for (let at = text.indexOf('['); at >= 0; at = text.indexOf('[', at + 1)) {
    if (++brackets > depthMax) return false
  }
  return true
}

/** Throws if a JSON text nests deeper or has more members than allowed. One pass over the bytes. */
export function scanJson(bytes: Buffer, { depthMax, keysMax }: JsonLimits): void {
  let depth = 0
  let keys = 0
  let inString = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (inString) {
      if (byte === backslash) at++
      else if (byte === quote) inString = false
      continue
    }
    switch (byte) {
      case quote:
        inString = true
        break
      case 0x7b: // {
      case 0x5b: // [
        depth++
        if (depth > depthMax) throw new RangeError(`nested deeper than ${depthMax}`)
        break
      case 0x7d: // }
      case 0x5d: // ]
        depth--
        break
      case 0x3a: // :
        keys++
        if (keys > keysMax) throw new RangeError(`more than ${keysMax} members`)
        break
    }
  }
}
