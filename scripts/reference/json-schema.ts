import type { ValueKind } from '../../packages/onceward/src/contract/options/value-kind.ts'
import { type KeyBranch, keyTree } from '../../packages/onceward/src/contract/policy/keys/key-tree.ts'
import type { PolicyKey } from '../../packages/onceward/src/contract/policy/keys/policy-key.ts'
import { policyKeys } from '../../packages/onceward/src/contract/policy/keys/policy-keys.ts'
import { topKeys } from '../../packages/onceward/src/contract/policy/read-policy.ts'
import { waiverFields } from '../../packages/onceward/src/contract/policy/read-waivers.ts'
import { properties } from '../../packages/onceward/src/contract/words.ts'

type Schema = Readonly<Record<string, unknown>>

const durationPattern = '^[0-9]{1,15}(\\.[0-9]{1,3})? ?(ms|s|m|h|d|w|y)$'
const sizePattern = '^[0-9]{1,12}(\\.[0-9]{1,3})? ?(B|KiB|MiB|GiB)$'
const secretPattern = '^\\$\\{env:[A-Za-z_][A-Za-z0-9_]*\\}$'
const noReference: Schema = { not: { pattern: '\\$\\{' } }
const plainText: Schema = { type: 'string', ...noReference }
const from: Schema = {
  oneOf: [
    closed({ header: { ...plainText, minLength: 1 } }, ['header']),
    closed({ property: { enum: properties } }, ['property']),
  ],
}

/** The JSON Schema of a policy file, for editors. Made from the table the file is read by. */
export function policySchema(keys: readonly PolicyKey[] = policyKeys): Schema {
  const tree = keyTree(keys)
  const withoutSource = {
    ...tree,
    children: new Map([...tree.children].filter(([name]) => name !== 'source')),
  }
  const names = (of: Schema, pattern = '^.+$') => ({
    type: ['object', 'null'],
    patternProperties: { [pattern]: of },
    additionalProperties: false,
  })
  const policy = { $ref: '#/$defs/policy' }
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Onceward policy file',
    description: 'onceward.yaml: what is decided about consumers outside of their code.',
    type: 'object',
    additionalProperties: false,
    properties: {
      defaults: { description: topKeys.defaults, ...branchSchema(withoutSource, true) },
      sources: { description: topKeys.sources, ...names(policy) },
      consumers: { description: topKeys.consumers, ...names(policy, '^[a-z][a-z0-9_]{0,47}$') },
      deliverySemantics: { description: topKeys.deliverySemantics, type: ['object', 'null'] },
      waivers: { description: topKeys.waivers, type: ['array', 'null'], items: waiverSchema() },
    },
    $defs: { policy: branchSchema(tree, true) },
  }
}

function waiverSchema(): Schema {
  const text = (description: string): Schema => ({ ...plainText, minLength: 1, description })
  return closed(
    {
      ...Object.fromEntries(Object.entries(waiverFields).map(([name, what]) => [name, text(what)])),
      until: { type: 'string', pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$', description: waiverFields.until },
    },
    ['rule', 'reason', 'owner', 'until'],
  )
}

function branchSchema({ children, anyName, value, shorthand }: KeyBranch, mayBeEmpty = false): Schema {
  if (children.size === 0 && anyName === null) return keySchema(value!)
  const below: Schema = {
    type: mayBeEmpty ? ['object', 'null'] : 'object',
    additionalProperties: false,
    ...(children.size > 0 && {
      properties: Object.fromEntries([...children].map(([name, one]) => [name, branchSchema(one)])),
    }),
    ...(anyName !== null && { patternProperties: { '^.+$': branchSchema(anyName) } }),
  }
  if (value !== null) return { description: value.description, oneOf: [valueSchema(value), below] }
  return shorthand === null ? below : { oneOf: [keySchema(shorthand), below] }
}

function keySchema(key: PolicyKey): Schema {
  return { description: key.description, ...valueSchema(key) }
}

function valueSchema(key: ValueKind): Schema {
  switch (key.kind) {
    case 'text':
      return plainText
    case 'text or none':
      return { type: ['string', 'null'], ...noReference }
    case 'texts':
      return { type: 'array', items: plainText }
    case 'word':
      return { enum: key.words }
    case 'words':
      return { type: 'array', items: { enum: key.words } }
    case 'flag':
      return { type: 'boolean' }
    case 'off':
      return { const: false }
    case 'count':
      return { type: 'integer', minimum: key.min, maximum: key.max }
    case 'share':
      return { type: 'number', exclusiveMinimum: 0, maximum: 1 }
    case 'duration':
      return { type: 'string', pattern: durationPattern }
    case 'size':
      return { type: 'string', pattern: sizePattern }
    case 'ports':
      return { type: 'array', items: { type: 'integer', minimum: 1, maximum: 65_535 } }
    case 'from':
      return from
    case 'from or position':
      return { oneOf: [{ enum: ['position', 'content'] }, ...(from.oneOf as Schema[])] }
    case 'versions':
      return {
        oneOf: [
          {
            type: 'array',
            minItems: 1,
            items: { oneOf: [{ type: 'string', minLength: 1 }, { type: 'number' }] },
          },
          closed({ min: { type: 'integer', minimum: 0 }, max: { type: 'integer', minimum: 0 } }, [
            'min',
            'max',
          ]),
        ],
      }
    case 'secret':
    case 'address':
      return { type: 'string', pattern: secretPattern }
    case 'header':
      return { type: 'string' }
  }
}

function closed(fields: Readonly<Record<string, Schema>>, required: readonly string[]): Schema {
  return { type: 'object', properties: fields, required, additionalProperties: false }
}
