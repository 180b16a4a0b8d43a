import { isRecord } from '../../contract/check-values.ts'
import type { RegisteredSchema } from '../registered-schema.ts'

/** An Avro schema as JSON: a name, a list of branches or an object. */
export type AvroSchema =
  | string
  | readonly AvroSchema[]
  | { readonly type: unknown; readonly [key: string]: unknown }

/** Nesting of a schema, and named types in it. Real schemas have a tenth of both. */
const depthMax = 100
const partsMax = 20_000

/** The JSON of a schema and of those it names. Throws a RangeError on one that is too deep or large. */
export function parseAvro({ text, references }: RegisteredSchema): {
  readonly schema: AvroSchema
  readonly named: readonly AvroSchema[]
} {
  const count = { parts: 0 }
  const parse = (text: string): AvroSchema => {
    const schema = parseText(text)
    assertBounded(schema, count, 0)
    return schema
  }
  return { named: references.map(reference => parse(reference.text)), schema: parse(text) }
}

/** A primitive schema may be registered as its bare name. */
function parseText(text: string): AvroSchema {
  return /^[\w.]+$/.test(text.trim()) ? text.trim() : JSON.parse(text)
}

function assertBounded(value: unknown, count: { parts: number }, depth: number): void {
  if (depth > depthMax) throw new RangeError(`the schema is nested deeper than ${depthMax}`)
  if (++count.parts > partsMax) throw new RangeError(`the schema has more than ${partsMax} parts`)
  if (isRecord(value) && value.name === '__proto__') throw new RangeError('the name "__proto__" is refused')
  const parts = Array.isArray(value) ? value : isRecord(value) ? Object.values(value) : []
  for (const part of parts) assertBounded(part, count, depth + 1)
}
