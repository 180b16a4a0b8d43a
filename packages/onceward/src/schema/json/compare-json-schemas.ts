import { isRecord } from '../../contract/check-values.ts'

const depthMax = 50

/**
 * A difference by which valid messages of `written` are invalid for `read`; null if none is certain. Compares
 * types, properties, required members, items and lists of values. What is composed (`anyOf`, `$ref`,
 * patterns) is not compared.
 */
export function whyInvalid(read: unknown, written: unknown, path = '', depth = 0): string | null {
  if (!isRecord(read) || depth > depthMax) return null
  const place = path === '' ? 'the body' : path
  if (written === undefined || written === true) written = {}
  if (!isRecord(written)) return null
  return (
    typeProblem(read, written, place) ??
    valueProblem(read, written, place) ??
    requiredProblem(read, written, place) ??
    closedProblem(read, written, place) ??
    propertyProblem(read, written, path, depth) ??
    (isRecord(read.items) && isRecord(written.items)
      ? whyInvalid(read.items, written.items, `${path}[]`, depth + 1)
      : null)
  )
}

type Schema = Readonly<Record<string, unknown>>

const composed = ['$ref', 'anyOf', 'oneOf', 'allOf', 'if', 'not']

function isComposed(schema: Schema): boolean {
  return composed.some(keyword => keyword in schema)
}

function typesOf({ type }: Schema): readonly string[] | null {
  if (typeof type === 'string') return [type]
  return Array.isArray(type) ? type.map(String) : null
}

function typeProblem(read: Schema, written: Schema, place: string): string | null {
  const accepted = typesOf(read)
  const sent = typesOf(written)
  if (accepted === null || sent === null) return null
  const other = sent.find(
    type => !accepted.includes(type) && !(type === 'integer' && accepted.includes('number')),
  )
  return other === undefined ? null : `${place} may be ${other}, and is read as ${accepted.join(' or ')}`
}

function valueProblem(read: Schema, written: Schema, place: string): string | null {
  if (!Array.isArray(read.enum) || !Array.isArray(written.enum)) return null
  const known = new Set(read.enum.map(value => JSON.stringify(value)))
  const other = written.enum.find(value => !known.has(JSON.stringify(value)))
  return other === undefined ? null : `${place} may be ${JSON.stringify(other)}, which is not read`
}

function requiredProblem(read: Schema, written: Schema, place: string): string | null {
  if (!Array.isArray(read.required) || isComposed(written)) return null
  const always = new Set(Array.isArray(written.required) ? written.required : [])
  const missing = read.required.find(name => !always.has(name))
  return missing === undefined ? null : `${place} may lack "${String(missing)}", which is required`
}

function closedProblem(read: Schema, written: Schema, place: string): string | null {
  if (read.additionalProperties !== false || isComposed(read) || !isRecord(written.properties)) return null
  const known = isRecord(read.properties) ? read.properties : {}
  const other = Object.keys(written.properties).find(name => !Object.hasOwn(known, name))
  return other === undefined ? null : `${place} may have "${other}", which is refused`
}

function propertyProblem(read: Schema, written: Schema, path: string, depth: number): string | null {
  if (!isRecord(read.properties) || !isRecord(written.properties)) return null
  for (const [name, schema] of Object.entries(read.properties)) {
    if (!Object.hasOwn(written.properties, name)) continue
    const problem = whyInvalid(schema, written.properties[name], `${path}/${name}`, depth + 1)
    if (problem !== null) return problem
  }
  return null
}
