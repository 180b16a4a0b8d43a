import {
  type Alias,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  visit,
  type YAMLError,
} from 'yaml'
import type { FilePlace, Refuse } from './problem.ts'

/** YAML as a tree with the place of every node; nothing in it is shared or cyclic. */
export type Placed = FilePlace &
  (
    | { readonly kind: 'map'; readonly entries: readonly PlacedEntry[] }
    | { readonly kind: 'list'; readonly items: readonly Placed[] }
    | { readonly kind: 'scalar'; readonly value: unknown }
  )

export interface PlacedEntry {
  readonly name: string
  readonly at: FilePlace
  readonly value: Placed
}

export const policyBytesMax = 256 * 1024
const depthMax = 16
const nodesMax = 20_000
const aliasesMax = 100
const start: FilePlace = { line: 1, column: 1 }

/**
 * The meaning of a parser error for the author of a policy. The parser's own texts quote the file, which may
 * contain secrets.
 */
const meanings: Readonly<Record<string, string>> = {
  BAD_INDENT: 'is indented differently from its siblings',
  TAB_AS_INDENT: 'is indented with a tab: use spaces',
  MISSING_CHAR: 'misses a character: a colon, a comma, a quote or a bracket',
  MULTIPLE_DOCS: 'begins a second document: a policy file has one',
  BAD_ALIAS: 'refers to an anchor that does not exist',
  TAG_RESOLVE_FAILED: 'has a tag: a policy file is plain data',
  RESOURCE_EXHAUSTION: 'is nested too deeply',
}

/** The file as a tree, or null if none of it is readable. Reports every problem it finds. */
export function parseYaml(bytes: Uint8Array | string, refuse: Refuse): Placed | null {
  const text = decoded(bytes, refuse)
  if (text === null) return null
  const lines = new LineCounter()
  const document = parsed(text, lines)
  if (document === null) {
    refuse(start, [], `is nested too deeply: ${depthMax} levels at most`)
    return null
  }
  const place = (offset: number): FilePlace => {
    const { line, col } = lines.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }
  for (const { code, pos } of distinctErrors([...document.errors, ...document.warnings]))
    refuse(place(pos[0]), [], meanings[code] ?? 'is not readable as YAML')
  if (document.contents === null) {
    if (document.errors.length === 0) refuse(start, [], 'the file is empty')
    return null
  }
  return new Reading(place, aliasTargets(document.contents), refuse).read(document.contents, [], 0)
}

/** Each error once, without those that follow from a parser that gave up. */
function distinctErrors(errors: readonly YAMLError[]): readonly YAMLError[] {
  const end = errors.findIndex(({ code }) => code === 'RESOURCE_EXHAUSTION')
  const seen = new Set<string>()
  return errors.slice(0, end === -1 ? undefined : end + 1).filter(({ code, pos }) => {
    const same = `${pos[0]} ${meanings[code]}`
    return !seen.has(same) && seen.add(same)
  })
}

function decoded(bytes: Uint8Array | string, refuse: Refuse): string | null {
  const size = typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.length
  if (size > policyBytesMax) {
    refuse(start, [], `the file is longer than ${policyBytesMax / 1024} KiB, and was not read`)
    return null
  }
  let text: string
  try {
    text = typeof bytes === 'string' ? bytes : new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    refuse(start, [], 'the file is not UTF-8 text')
    return null
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a text contains none of these
  const control = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/.exec(text)
  if (control === null) return text
  const before = text.slice(0, control.index).split('\n')
  const at = { line: before.length, column: before.at(-1)!.length + 1 }
  refuse(at, [], 'the file contains a control character')
  return null
}

/**
 * Duplicate keys are found below with a set, because the parser compares every pair. Null if the parser runs
 * out of stack.
 */
function parsed(text: string, lineCounter: LineCounter) {
  try {
    return parseDocument(text, {
      lineCounter,
      prettyErrors: false,
      uniqueKeys: false,
      resolveKnownTags: false,
    })
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}

/**
 * The target of each alias: the nearest earlier anchor of its name. The parser would need one pass per alias.
 */
function aliasTargets(contents: Node): ReadonlyMap<Alias, Node> {
  const anchors = new Map<string, Node>()
  const targets = new Map<Alias, Node>()
  visit(contents, {
    Node(_, node) {
      if (isAlias(node)) {
        const target = anchors.get(node.source)
        if (target !== undefined) targets.set(node, target)
      } else if (node.anchor !== undefined) anchors.set(node.anchor, node)
    },
  })
  return targets
}

class Reading {
  readonly #place: (offset: number) => FilePlace
  readonly #targets: ReadonlyMap<Alias, Node>
  readonly #refuse: Refuse
  #nodes = 0
  #aliases = 0
  #full = false

  constructor(place: (offset: number) => FilePlace, targets: ReadonlyMap<Alias, Node>, refuse: Refuse) {
    this.#place = place
    this.#targets = targets
    this.#refuse = refuse
  }

  read(node: unknown, path: readonly string[], depth: number, at = this.#placeOf(node)): Placed {
    const nothing: Placed = { kind: 'scalar', value: null, ...at }
    if (this.#full) return nothing
    if (++this.#nodes > nodesMax) return this.#stop(at, `has more than ${nodesMax} values`, nothing)
    if (depth > depthMax) {
      this.#refuse(at, path, `is nested too deeply: ${depthMax} levels at most`)
      return nothing
    }
    if (isAlias(node)) return this.#alias(node, path, depth, at, nothing)
    if (isMap(node)) return { kind: 'map', ...at, entries: this.#entries(node.items, path, depth) }
    if (isSeq(node)) {
      const items = node.items.map((item, index) => this.read(item, [...path, String(index)], depth + 1))
      return { kind: 'list', ...at, items }
    }
    return isScalar(node) ? { kind: 'scalar', ...at, value: node.value } : nothing
  }

  #alias(node: Alias, path: readonly string[], depth: number, at: FilePlace, nothing: Placed): Placed {
    if (++this.#aliases > aliasesMax)
      return this.#stop(at, `unfolds more than ${aliasesMax} aliases`, nothing)
    const target = this.#targets.get(node)
    if (target !== undefined) return this.read(target, path, depth + 1, at)
    this.#refuse(at, path, 'refers to an anchor that does not exist')
    return nothing
  }

  #entries(
    pairs: readonly { readonly key: unknown; readonly value: unknown }[],
    path: readonly string[],
    depth: number,
  ): PlacedEntry[] {
    const seen = new Set<string>()
    const entries: PlacedEntry[] = []
    for (const { key, value } of pairs) {
      const at = this.#placeOf(key)
      const name = isScalar(key) && key.value !== null ? String(key.value) : null
      if (name === null) {
        this.#refuse(at, path, 'has a key that is not a name')
        continue
      }
      const below = [...path, name]
      if (seen.has(name)) this.#refuse(at, below, 'is given twice')
      else entries.push({ name, at, value: this.read(value, below, depth + 1, this.#placeOf(value, at)) })
      seen.add(name)
    }
    return entries
  }

  #placeOf(node: unknown, otherwise: FilePlace = start): FilePlace {
    const range = (node as { range?: readonly number[] | null } | null)?.range
    return range ? this.#place(range[0]!) : otherwise
  }

  #stop(at: FilePlace, text: string, nothing: Placed): Placed {
    this.#full = true
    this.#refuse(at, [], `the file ${text}; the rest was not read`)
    return nothing
  }
}
