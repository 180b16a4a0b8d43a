import { nearestName } from '../../ports/nearest-name.ts'
import type { Placed, PlacedEntry } from './parse-yaml.ts'
import type { FilePlace, Refuse } from './problem.ts'
import { consumerKeys, type OwnValue, templateKey, topicKeys } from './template-keys.ts'

type Translate = (typeof topicKeys)[string]

/** Sources and consumers of the template, each with keys of ours at the places of its own. */
export interface Translated {
  readonly sources: readonly PlacedEntry[]
  readonly consumers: readonly PlacedEntry[]
}

/** Translates the template. A key or a value that it does not have is refused; the rest is translated. */
export function translateTemplate(node: Placed, refuse: Refuse): Translated {
  const sources: PlacedEntry[] = []
  const consumers: PlacedEntry[] = []
  const path = [templateKey]
  for (const { name, at, value } of entriesOf(node, path, refuse)) {
    const below = [...path, name]
    if (name === 'topics')
      for (const one of entriesOf(value, below, refuse)) sources.push(topicOf(one, below, refuse))
    else if (name === 'consumers')
      for (const one of entriesOf(value, below, refuse)) consumers.push(consumerOf(one, below, refuse))
    else refuse(at, below, unknown(name, ['topics', 'consumers']))
  }
  return { sources, consumers }
}

function topicOf({ name, at, value }: PlacedEntry, path: readonly string[], refuse: Refuse): PlacedEntry {
  const below = [...path, name]
  return { name, at, value: ownKeys(translated(value, topicKeys, below, refuse), at) }
}

/** Consumer names have underscores. */
function consumerOf({ name, at, value }: PlacedEntry, path: readonly string[], refuse: Refuse): PlacedEntry {
  const below = [...path, name]
  const own: Placement[] = []
  for (const section of entriesOf(value, below, refuse)) {
    const keys = consumerKeys[section.name]
    const inside = [...below, section.name]
    if (keys === undefined) refuse(section.at, inside, unknown(section.name, Object.keys(consumerKeys)))
    else own.push(...translated(section.value, keys, inside, refuse))
  }
  return { name: name.replaceAll('-', '_'), at, value: ownKeys(withDestination(own), at) }
}

/** Without a topic there is no copy: every dead letter waits for a person in the parking lot, as asked. */
function withDestination(own: readonly Placement[]): readonly Placement[] {
  if (own.some(({ path }) => path === 'failure.deadLetter.to')) return own
  return own.filter(({ path }) => !path.startsWith('failure.deadLetter.'))
}

interface Placement {
  readonly path: string
  readonly at: FilePlace
  readonly value: Placed
}

function translated(
  node: Placed,
  keys: Readonly<Record<string, Translate>>,
  path: readonly string[],
  refuse: Refuse,
): readonly Placement[] {
  return entriesOf(node, path, refuse).flatMap(({ name, at, value }) => {
    const translate = Object.hasOwn(keys, name) ? keys[name] : undefined
    if (translate === undefined) {
      refuse(at, [...path, name], unknown(name, Object.keys(keys)))
      return []
    }
    const plain = value.kind === 'scalar' ? value.value : value
    const own = translate(plain)
    if (own === null) refuse(value, [...path, name], 'has a value that this template does not have')
    return (own ?? []).map(([to, given]: OwnValue) => ({
      path: to,
      at,
      value: given === value ? value : placed(given, value),
    }))
  })
}

function placed(value: unknown, at: FilePlace): Placed {
  const { line, column } = at
  if (Array.isArray(value)) return { kind: 'list', items: value.map(one => placed(one, at)), line, column }
  return { kind: 'scalar', value, line, column }
}

/** A tree of our keys from their paths. */
function ownKeys(values: readonly Placement[], at: FilePlace): Placed {
  const { line, column } = at
  const entries = [...Map.groupBy(values, ({ path }) => path.split('.')[0]!)].map(([name, some]) => {
    const leaf = some.find(({ path }) => path === name)
    const below = some.map(one => ({ ...one, path: one.path.slice(name.length + 1) }))
    return { name, at: some[0]!.at, value: leaf?.value ?? ownKeys(below, some[0]!.at) }
  })
  return { kind: 'map', entries, line, column }
}

function entriesOf(node: Placed, path: readonly string[], refuse: Refuse): readonly PlacedEntry[] {
  if (node.kind === 'map') return node.entries
  if (!(node.kind === 'scalar' && node.value === null)) refuse(node, path, 'must have keys below it')
  return []
}

function unknown(name: string, keys: readonly string[]): string {
  const near = name.length > 60 ? null : nearestName(name, keys)
  return `is not a key of the template${near === null ? '' : `; did you mean '${near}'?`}`
}
