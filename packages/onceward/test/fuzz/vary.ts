import type { Draws } from '../../src/testing/simulator/draws.ts'
import type { Target } from './target.ts'
import { varyTree } from './vary-tree.ts'

const edges = [0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff]
const characters = [
  '\u0000',
  '"',
  '\\',
  '\u2028',
  '\ud800',
  '\udc00',
  '\ufeff',
  '\u202e',
  '\u00e9',
  '𐍈',
  '\n',
  ' ',
]

/** A variation of an input: one to eight small changes, or a part of another input. */
export function vary(input: Buffer, other: Buffer, target: Target, draws: Draws): Buffer {
  const { kind, words = [], bytesMax = 4_096 } = target
  if (kind === 'json') return varyTree(input, other, words.map(String), draws).subarray(0, 4 * bytesMax)
  let varied = input
  for (let changes = 1 + draws.below(draws.chance(0.2) ? 8 : 3); changes > 0; changes--)
    varied = changed(varied, other, words, kind, draws)
  return varied.subarray(0, bytesMax)
}

function changed(
  input: Buffer,
  other: Buffer,
  words: readonly (string | Buffer)[],
  kind: 'bytes' | 'text',
  draws: Draws,
): Buffer {
  const at = draws.below(input.length + 1)
  const length = 1 + draws.below(draws.chance(0.1) ? input.length + 1 : 8)
  const splice = (removed: number, inserted: Buffer) =>
    Buffer.concat([input.subarray(0, at), inserted, input.subarray(Math.min(input.length, at + removed))])
  switch (draws.below(kind === 'bytes' ? 10 : 8)) {
    case 0:
      return splice(length, Buffer.alloc(0))
    case 1:
      return splice(0, input.subarray(at, at + length))
    case 2:
      return splice(0, part(other, draws))
    case 3:
      return splice(length, part(other, draws))
    case 4:
    case 5:
      return words.length === 0 ? splice(1, oneByte(draws)) : splice(draws.below(3), wordOf(words, draws))
    case 6:
      return splice(draws.below(2), kind === 'text' ? character(draws) : oneByte(draws))
    case 7:
      return splice(
        0,
        Buffer.concat(Array.from({ length: 1 + draws.below(40) }, () => input.subarray(at, at + 4))),
      )
    case 8:
      return withBitFlipped(input, draws)
    default:
      return withNumber(input, draws)
  }
}

function part(of: Buffer, draws: Draws): Buffer {
  const at = draws.below(of.length + 1)
  return of.subarray(at, at + 1 + draws.below(32))
}

function wordOf(words: readonly (string | Buffer)[], draws: Draws): Buffer {
  return Buffer.from(draws.pick(words) as string)
}

function oneByte(draws: Draws): Buffer {
  return Buffer.of(draws.below(256))
}

function character(draws: Draws): Buffer {
  return Buffer.from(draws.chance(0.5) ? draws.pick(characters) : String.fromCharCode(32 + draws.below(95)))
}

function withBitFlipped(input: Buffer, draws: Draws): Buffer {
  if (input.length === 0) return oneByte(draws)
  const flipped = Buffer.from(input)
  flipped[draws.below(input.length)]! ^= 1 << draws.below(8)
  return flipped
}

/** Lengths and counts are where readers fail: a number at an edge, in either byte order. */
function withNumber(input: Buffer, draws: Draws): Buffer {
  const size = draws.pick([1, 2, 4])
  if (input.length < size) return oneByte(draws)
  const written = Buffer.from(input)
  const at = draws.below(input.length - size + 1)
  const value = (draws.chance(0.5) ? draws.pick(edges) : draws.below(input.length + 2)) % 2 ** (8 * size)
  if (draws.chance(0.8)) written.writeUIntBE(value, at, size)
  else written.writeUIntLE(value, at, size)
  return written
}
