interface Schema {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly format?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly maximum?: number
  readonly $ref?: string
  readonly $defs?: Readonly<Record<string, Schema>>
}

/** Messages that are generated from a schema. */
const messageCount = 8
/** Entities that they are about: the fields that look like ids of something else repeat. */
const entityCount = 3

/** Bodies that fit a JSON Schema. The fields that look like the message's own id differ, others repeat. */
export function generateBodies(schema: unknown, seed: number): readonly unknown[] {
  return Array.from({ length: messageCount }, (_, index) =>
    sampleValue(schema as Schema, { root: schema as Schema, number: index + 1, seed, name: '' }),
  )
}

interface Place {
  readonly root: Schema
  /** Of the message, from 1. */
  readonly number: number
  readonly seed: number
  /** Of the property. */
  readonly name: string
}

const own = /^(message|event|request|msg|transition|scan)?_?-?(id|uuid|key)$/i
const versions = /(version|sequence|revision|seq)$/i

function sampleValue(given: Schema, place: Place): unknown {
  const schema = resolved(given, place.root)
  if (schema.const !== undefined) return schema.const
  if (schema.enum !== undefined) return schema.enum[(place.number - 1) % schema.enum.length]
  const choice = schema.anyOf ?? schema.oneOf
  if (choice !== undefined) return sampleValue(choice[0]!, place)
  if (schema.allOf !== undefined)
    return Object.assign({}, ...schema.allOf.map(one => sampleValue(one, place) as object))
  const type = Array.isArray(schema.type) ? schema.type.find(one => one !== 'null') : schema.type
  switch (type) {
    case 'object':
      return objectOf(schema, place)
    case 'array':
      return schema.items === undefined ? [] : [sampleValue(schema.items, place)]
    case 'integer':
    case 'number':
      return numberOf(schema, place)
    case 'boolean':
      return place.number % 2 === 0
    case 'null':
      return null
    default:
      return textOf(schema, place)
  }
}

function resolved(schema: Schema, root: Schema): Schema {
  const name = schema.$ref?.replace(/^#\/\$defs\//, '')
  return name === undefined ? schema : (root.$defs?.[name] ?? root)
}

/** Only required properties: an optional one often changes the meaning of the message. */
function objectOf({ properties = {}, required = [] }: Schema, place: Place): object {
  const names = Object.keys(properties).filter(name => required.includes(name))
  return Object.fromEntries(names.map(name => [name, sampleValue(properties[name]!, { ...place, name })]))
}

/** Versions of an entity count up; other numbers repeat. */
function numberOf({ minimum, exclusiveMinimum, maximum }: Schema, { number, name }: Place): number {
  const least = minimum ?? (exclusiveMinimum === undefined ? 1 : exclusiveMinimum + 1)
  const value = versions.test(name) ? Math.ceil(number / entityCount) : 10 * (1 + (number % entityCount))
  return Math.min(Math.max(value, least), maximum ?? Number.MAX_SAFE_INTEGER)
}

function textOf(schema: Schema, { number, name, seed }: Place): string {
  const entity = own.test(name) ? number : 1 + (number % entityCount)
  switch (schema.format) {
    case 'date-time':
      return new Date(Date.UTC(2026, 0, 5, 8, number)).toISOString()
    case 'date':
      return `2026-01-${String(number).padStart(2, '0')}`
    case 'email':
      return `person${entity}@example.org`
    case 'uri':
      return `https://example.org/${entity}`
    case 'uuid':
      return `00000000-0000-4000-8000-${String(seed * 1_000 + entity).padStart(12, '0')}`
  }
  if (schema.pattern !== undefined && new RegExp(schema.pattern).test(`${entity}`)) return `${entity}`
  const text =
    schema.maxLength !== undefined && schema.maxLength < 6 ? 'ABCDEF' : `${name || 'text'}-${entity}`
  return text.slice(0, schema.maxLength).padEnd(schema.minLength ?? 0, 'x')
}
