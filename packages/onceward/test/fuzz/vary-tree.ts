import type { Draws } from '../../src/testing/simulator/draws.ts'

type Tree = unknown

/** A JSON tree with some nodes replaced, removed, moved or renamed. */
export function varyTree(input: Buffer, other: Buffer, words: readonly string[], draws: Draws): Buffer {
  const tree = parsed(input)
  const donor = parsed(other)
  for (let changes = 1 + draws.below(3); changes > 0; changes--) change(tree, donor, words, draws)
  return Buffer.from(JSON.stringify(tree.root))
}

interface Root {
  root: Tree
}

function parsed(input: Buffer): Root {
  try {
    return { root: JSON.parse(input.toString('utf8')) }
  } catch {
    return { root: {} }
  }
}

interface Place {
  readonly holder: Record<string, Tree>
  readonly name: string
}

function placesOf(holder: Record<string, Tree>, into: Place[] = []): Place[] {
  for (const name of Object.keys(holder)) {
    into.push({ holder, name })
    const value = holder[name]
    if (value !== null && typeof value === 'object') placesOf(value as Record<string, Tree>, into)
  }
  return into
}

function change(tree: Root, donor: Root, words: readonly string[], draws: Draws): void {
  const { holder, name } = draws.pick(placesOf(tree as unknown as Record<string, Tree>))
  const taken = draws.pick(placesOf(donor as unknown as Record<string, Tree>))
  switch (draws.below(7)) {
    case 0:
      if (holder !== (tree as unknown)) delete holder[name]
      return
    case 1:
      holder[name] = structuredClone(taken.holder[taken.name])
      return
    case 2:
      put(holder, name, draws.chance(0.5) ? taken.name : textOf(words, draws), holder[name])
      return
    case 3:
      holder[name] = [holder[name], structuredClone(taken.holder[taken.name])]
      return
    case 4:
      holder[name] = { [textOf(words, draws)]: holder[name] }
      return
    default:
      holder[name] = leaf(words, draws)
  }
}

/** `__proto__` becomes a member, as JSON.parse makes it. */
function put(holder: Record<string, Tree>, old: string, name: string, value: Tree): void {
  if (Array.isArray(holder)) return
  if (old !== 'root') delete holder[old]
  if (old !== 'root')
    Object.defineProperty(holder, name, { value, enumerable: true, writable: true, configurable: true })
}

const numbers = [0, -0, 1, -1, 0.5, 1e21, 1e308, 5e-324, 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 53), 86_400_000]
const texts = [
  '',
  ' ',
  '\u0000',
  '\ud800',
  '__proto__',
  'constructor',
  '\u202e',
  'x'.repeat(300),
  '1',
  'true',
  '{}',
]

function leaf(words: readonly string[], draws: Draws): Tree {
  switch (draws.below(5)) {
    case 0:
      return draws.pick(numbers)
    case 1:
      return draws.pick([null, true, false, [], {}])
    default:
      return textOf(words, draws)
  }
}

function textOf(words: readonly string[], draws: Draws): string {
  return words.length > 0 && draws.chance(0.7) ? draws.pick(words) : draws.pick(texts)
}
