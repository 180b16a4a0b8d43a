import type { Limits } from './limits.ts'

const quote = 0x22
const backslash = 0x5c

/** Throws when a JSON text nests deeper or has more members than allowed. Costs one pass over the bytes. */
export function scanJson(bytes: Buffer, { depthMax, keysMax }: Pick<Limits, 'depthMax' | 'keysMax'>): void {
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
