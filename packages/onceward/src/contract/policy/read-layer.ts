import { nearestName } from '../../ports/nearest-name.ts'
import { contractOptions } from '../options/table.ts'
import type { KeyBranch } from './keys/key-tree.ts'
import type { PolicyKey } from './keys/policy-key.ts'
import { setElsewhere } from './keys/policy-keys.ts'
import type { Placed, PlacedEntry } from './parse-yaml.ts'
import { type FilePlace, type Refuse, shownName } from './problem.ts'
import { readValue } from './read-value.ts'
import { refuseTwoClasses, retryHabits, toContractValues } from './retry-import.ts'

/** One value of the file, and its place in the contract. */
export interface GivenValue {
  readonly key: PolicyKey
  /** In the contract; null for a key the contract does not have. */
  readonly path: readonly string[] | null
  readonly value: unknown
  readonly at: FilePlace
  /** In the file. */
  readonly filePath: readonly string[]
}

export interface Layer {
  readonly at: FilePlace
  readonly values: readonly GivenValue[]
  /** Values that were unreadable, as paths of the contract. They are not reported again as missing. */
  readonly unread: readonly (readonly string[])[]
}

export const emptyLayer: Layer = { at: { line: 1, column: 1 }, values: [], unread: [] }

const elsewhere = new Map([...setElsewhere(contractOptions), ...retryHabits])

/** Reads everything below a consumer, a source or the defaults. Reports each unusable value and continues. */
export function readLayer(node: Placed, tree: KeyBranch, filePath: readonly string[], refuse: Refuse): Layer {
  const layer = { at: placeOf(node), values: [] as GivenValue[], unread: [] as (readonly string[])[] }
  if (node.kind === 'scalar' && node.value === null) return layer
  walk(node, tree, { filePath, names: [], depth: filePath.length }, layer, refuse)
  refuseTwoClasses(layer.values, refuse)
  return layer
}

interface Where {
  readonly filePath: readonly string[]
  /** User-chosen names, in the order of the `*` they replace. */
  readonly names: readonly string[]
  /** How much of the path is above the layer. */
  readonly depth: number
}

type Writable = { values: GivenValue[]; unread: (readonly string[])[] }

function walk(node: Placed, branch: KeyBranch, where: Where, layer: Writable, refuse: Refuse): void {
  const hasKeys = branch.children.size > 0 || branch.anyName !== null
  if (node.kind === 'map' && hasKeys) {
    for (const entry of node.entries) walkEntry(entry, branch, where, layer, refuse)
    return
  }
  if (branch.value !== null) return take(node, branch.value, where, layer, refuse)
  if (branch.shorthand !== null && node.kind === 'scalar' && node.value !== null)
    return take(node, branch.shorthand, where, layer, refuse)
  refuse(node, where.filePath, hasKeys ? 'must have keys below it' : 'cannot be used here')
  layer.unread.push(where.filePath.slice(where.depth))
}

function walkEntry(
  { name, at, value }: PlacedEntry,
  branch: KeyBranch,
  where: Where,
  layer: Writable,
  refuse: Refuse,
): void {
  const filePath = [...where.filePath, name]
  const known = branch.children.get(name)
  if (known !== undefined) return walk(value, known, { ...where, filePath }, layer, refuse)
  if (branch.anyName !== null) {
    const isName = /^[\x21-\x7e]([\x20-\x7e]{0,98}[\x21-\x7e])?$/.test(name) && name !== '__proto__'
    if (!isName) return refuse(at, filePath, 'is not a valid name: use 1 to 100 visible ASCII characters')
    return walk(value, branch.anyName, { ...where, filePath, names: [...where.names, name] }, layer, refuse)
  }
  refuse(at, filePath, unknownKey(name, filePath.slice(where.depth), branch))
}

function unknownKey(name: string, path: readonly string[], branch: KeyBranch): string {
  const said = elsewhere.get(path.join('.'))
  if (said !== undefined) return said
  const near = name.length > 60 ? null : nearestName(name, [...branch.children.keys()])
  return `is not a known key${near === null ? '' : `; did you mean '${shownName(near)}'?`}`
}

function take(node: Placed, key: PolicyKey, where: Where, layer: Writable, refuse: Refuse): void {
  const path = contractPath(key, where.names)
  const read = readValue(node, key)
  if ('wrong' in read) {
    refuse(node, where.filePath, read.wrong)
    layer.unread.push(path ?? [])
  } else {
    const given = { key, path, value: read.value, at: placeOf(node), filePath: where.filePath }
    layer.values.push(...toContractValues(given))
  }
}

function placeOf({ line, column }: FilePlace): FilePlace {
  return { line, column }
}

function contractPath({ at }: PolicyKey, names: readonly string[]): readonly string[] | null {
  if (at === null) return null
  const left = [...names]
  return at.split('.').map(part => (part === '*' ? left.shift()! : part))
}
