import type { Limits } from './limits.ts'

const quote = 0x22
const backslash = 0x5c

/** Throws when a JSON text nests deeper or has more members than allowed. Costs one pass over the bytes. */
export function scanJson(bytes: Buffer, limits: Pick<Limits, 'depthMax' | 'keysMax'>): void {
  let depth = 0
  let keys = 0
  for (let at = 0; at < bytes.length; at++) {
    switch (bytes[at]) {
      case quote:
        at = endOfString(bytes, at)
        break
      case 0x7b: // {
      case 0x5b: // [
        depth++
        if (depth > limits.depthMax) throw new RangeError(`nested deeper than ${limits.depthMax}`)
        break
      case 0x7d: // }
      case 0x5d: // ]
        depth--
        break
      case 0x3a: // :
        keys++
        if (keys > limits.keysMax) throw new RangeError(`more than ${limits.keysMax} members`)
        break
    }
  }
}

function endOfString(bytes: Buffer, start: number): number {
  let at = bytes.indexOf(quote, start + 1)
  while (at !== -1) {
    let slashes = 0
    while (bytes[at - 1 - slashes] === backslash) slashes++
    if (slashes % 2 === 0) return at
    at = bytes.indexOf(quote, at + 1)
  }
  return bytes.length
}
