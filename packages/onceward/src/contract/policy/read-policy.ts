import { nearestName } from '../../ports/nearest-name.ts'
import { type KeyBranch, keyTree } from './keys/key-tree.ts'
import type { PolicyKey } from './keys/policy-key.ts'
import { policyKeys } from './keys/policy-keys.ts'
import { type Placed, type PlacedEntry, parseYaml } from './parse-yaml.ts'
import { type PolicyProblem, type Refuse, refusing } from './problem.ts'
import { emptyLayer, type Layer, readLayer } from './read-layer.ts'
import { type PolicyWaiver, readWaivers } from './read-waivers.ts'
import { restoreIndent } from './restore-indent.ts'
import { translateTemplate } from './template-import.ts'
import { templateKey } from './template-keys.ts'

/** A policy file after reading: its usable values, and every problem. */
export interface Policy {
  readonly file: string
  readonly policies: Policies
  readonly waivers: readonly PolicyWaiver[]
  readonly problems: readonly PolicyProblem[]
}

/** From general to specific: the specific value wins. */
export interface Policies {
  /** For every consumer. */
  readonly defaults: Layer
  /** For consumers that read the queue, topic, stream or file of this name. */
  readonly sources: ReadonlyMap<string, Layer>
  readonly consumers: ReadonlyMap<string, Layer>
}

export const topKeys = {
  defaults: 'for every consumer, unless the consumer or its source sets another value',
  sources: 'by name of the queue, topic, stream or file: for every consumer that reads it',
  consumers: 'by name: every consumer and transform that runs with this file',
  waivers: 'findings of `onceward check` that the team accepts',
  deliverySemantics: 'topics and consumers in the words of the usual template, which are translated',
} as const

const consumerName = /^[a-z][a-z0-9_]{0,47}$/

/** Reads a policy file. Pure: it does not read the environment, and no input makes it throw. */
export function readPolicy(
  content: Uint8Array | string,
  file: string,
  keys: readonly PolicyKey[] = policyKeys,
): Policy {
  const problems: PolicyProblem[] = []
  const refuse = refusing(file, problems)
  const tree = keyTree(keys)
  const policies = {
    defaults: emptyLayer,
    sources: new Map<string, Layer>(),
    consumers: new Map<string, Layer>(),
  }
  let waivers: PolicyWaiver[] = []
  const root = parseYaml(typeof content === 'string' ? restoreIndent(content) : restored(content), refuse)
  const readSource = (one: PlacedEntry) => {
    if (policies.sources.has(one.name)) refuse(one.at, ['sources', one.name], 'is given twice')
    policies.sources.set(one.name, readLayer(one.value, tree, ['sources', one.name], refuse))
  }
  const readConsumer = (one: PlacedEntry) => {
    if (!consumerName.test(one.name)) nameProblem(one, refuse)
    if (policies.consumers.has(one.name)) refuse(one.at, ['consumers', one.name], 'is given twice')
    policies.consumers.set(one.name, readLayer(one.value, tree, ['consumers', one.name], refuse))
  }
  for (const { name, at, value } of topEntries(root, refuse)) {
    switch (name as keyof typeof topKeys) {
      case 'defaults':
        policies.defaults = readLayer(value, withoutSource(tree), ['defaults'], refuse)
        break
      case 'sources':
        namedEntries(value, name, refuse).forEach(readSource)
        break
      case 'consumers':
        namedEntries(value, name, refuse).forEach(readConsumer)
        break
      case 'deliverySemantics': {
        const { sources, consumers } = translateTemplate(value, refuse)
        sources.forEach(readSource)
        consumers.forEach(readConsumer)
        break
      }
      case 'waivers':
        waivers = readWaivers(value, file, refuse)
        break
      default:
        refuse(at, [name], unknownTop(name))
    }
  }
  for (const waiver of waivers) refuseUnknownConsumer(waiver, policies.consumers, refuse)
  return { file, policies, waivers, problems }
}

/** Bytes that are not the flat template are read as they are, with their own errors. */
function restored(content: Uint8Array): Uint8Array | string {
  const isTemplate = Buffer.from(content.subarray(0, templateKey.length)).toString('latin1') === templateKey
  return isTemplate ? restoreIndent(Buffer.from(content).toString('utf8')) : content
}

function topEntries(root: Placed | null, refuse: Refuse): readonly PlacedEntry[] {
  if (root === null) return []
  if (root.kind === 'map') return root.entries
  refuse(root, [], `the file must have the keys ${Object.keys(topKeys).join(', ')}`)
  return []
}

function namedEntries(node: Placed, key: string, refuse: Refuse): readonly PlacedEntry[] {
  if (node.kind === 'map') return node.entries
  if (!(node.kind === 'scalar' && node.value === null)) refuse(node, [key], 'must have names below it')
  return []
}

function unknownTop(name: string): string {
  const near = name.length > 60 ? null : nearestName(name, Object.keys(topKeys))
  return `is not a known key${near === null ? '' : `; did you mean '${near}'?`}`
}

function nameProblem({ name, at }: PlacedEntry, refuse: Refuse): void {
  const fitting = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_')
  const hint = name.length <= 48 && consumerName.test(fitting) ? `, such as ${fitting}` : ''
  refuse(
    at,
    ['consumers', name],
    `is not a valid consumer name: use lower case, digits and underscores${hint}`,
  )
}

/** A waiver with a misspelt name would waive nothing. */
function refuseUnknownConsumer(
  { consumer, place }: PolicyWaiver,
  consumers: ReadonlyMap<string, Layer>,
  refuse: Refuse,
): void {
  if (consumer === undefined || consumers.has(consumer)) return
  const [line, column] = place.split(':').slice(-2).map(Number) as [number, number]
  const near = consumer.length > 60 ? null : nearestName(consumer, [...consumers.keys()])
  refuse(
    { line, column },
    ['waivers'],
    `names a consumer that this file does not have${near === null ? '' : `; did you mean '${near}'?`}`,
  )
}

/** An address belongs to a source or to a consumer. */
function withoutSource(tree: KeyBranch): KeyBranch {
  return { ...tree, children: new Map([...tree.children].filter(([name]) => name !== 'source')) }
}
