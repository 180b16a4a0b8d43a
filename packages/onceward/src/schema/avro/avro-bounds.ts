import { isRecord } from '../../contract/check-values.ts'
import type { Limits } from '../../message/limits.ts'
import type { AvroSchema } from './avro-schema.ts'

/** Walks the bytes of one value; throws a RangeError where they end too early or exceed a limit. */
export type BoundsCheck = (bytes: Uint8Array, limits: Pick<Limits, 'depthMax' | 'keysMax'>) => void

interface Walk {
  readonly bytes: Uint8Array
  readonly depthMax: number
  at: number
  /** Items of arrays and maps that may still follow. */
  items: number
  depth: number
}

type Step = (walk: Walk) => void

/**
 * Compiles a check of bytes against the schema they were written with. avsc reads on after the last byte and
 * looks at the end whether it did: a count of 2^40 in five bytes would fill the memory first.
 */
export function compileBounds(schema: AvroSchema, named: readonly AvroSchema[] = []): BoundsCheck {
  const types = new Map<string, Step>()
  for (const one of named) compile(one, '', types)
  const step = compile(schema, '', types)
  return (bytes, { depthMax, keysMax }) => {
    const walk: Walk = { bytes, depthMax, at: 0, items: keysMax, depth: 0 }
    step(walk)
    if (walk.at !== bytes.length)
      throw new RangeError(`${bytes.length - walk.at} bytes after the end of the value`)
  }
}

const primitives: Readonly<Record<string, Step>> = {
  null: () => {},
  boolean: walk => skip(walk, 1),
  int: walk => void readLong(walk, 35),
  long: walk => void readLong(walk),
  float: walk => skip(walk, 4),
  double: walk => skip(walk, 8),
  bytes: skipSized,
  string: skipSized,
}

function compile(schema: unknown, space: string, types: Map<string, Step>): Step {
  if (typeof schema === 'string') {
    return Object.hasOwn(primitives, schema) ? primitives[schema]! : named(schema, space, types)
  }
  if (Array.isArray(schema)) return union(schema.map(branch => compile(branch, space, types)))
  if (!isRecord(schema)) throw new TypeError('not an Avro schema')
  const { type } = schema
  switch (type) {
    case 'record':
    case 'error':
      return record(schema, space, types)
    case 'enum': {
      const size = Array.isArray(schema.symbols) ? schema.symbols.length : 0
      return define(schema, space, types, walk => void index(walk, size))
    }
    case 'fixed': {
      const size = Number(schema.size)
      if (!Number.isSafeInteger(size) || size < 0) throw new TypeError(`a fixed of size ${size}`)
      return define(schema, space, types, walk => skip(walk, size))
    }
    case 'array':
      return blocks(compile(schema.items, space, types))
    case 'map': {
      const value = compile(schema.values, space, types)
      return blocks(walk => {
        skipKey(walk)
        value(walk)
      })
    }
    default:
      return compile(type, space, types)
  }
}

function named(name: string, space: string, types: Map<string, Step>): Step {
  const full = fullName(name, space)
  const known = types.get(full) ?? types.get(name)
  if (known === undefined) throw new TypeError(`unknown Avro type ${name.slice(0, 200)}`)
  return known
}

function fullName(name: string, space: string): string {
  return name.includes('.') || space === '' ? name : `${space}.${name}`
}

interface Named {
  readonly [key: string]: unknown
}

function spaceOf(schema: Named, outer: string): { readonly full: string; readonly space: string } {
  const given = typeof schema.namespace === 'string' ? schema.namespace : outer
  const full = fullName(String(schema.name), given)
  return { full, space: full.includes('.') ? full.slice(0, full.lastIndexOf('.')) : '' }
}

function define(schema: Named, outer: string, types: Map<string, Step>, step: Step): Step {
  types.set(spaceOf(schema, outer).full, step)
  return step
}

/** A record may contain itself: its step is known before its fields are. */
function record(schema: Named, outer: string, types: Map<string, Step>): Step {
  const { space } = spaceOf(schema, outer)
  let fields: readonly Step[] = []
  const step = define(schema, outer, types, walk => {
    if (++walk.depth > walk.depthMax) throw new RangeError(`nested deeper than ${walk.depthMax}`)
    for (const field of fields) field(walk)
    walk.depth--
  })
  if (!Array.isArray(schema.fields)) throw new TypeError('a record without fields')
  fields = schema.fields.map(field => compile(isRecord(field) ? field.type : null, space, types))
  return step
}

function union(branches: readonly Step[]): Step {
  return walk => branches[index(walk, branches.length)]!(walk)
}

/** Blocks of items until a count of zero. A negative count has the size of the block behind it. */
function blocks(item: Step): Step {
  return walk => {
    if (++walk.depth > walk.depthMax) throw new RangeError(`nested deeper than ${walk.depthMax}`)
    for (let count = readLong(walk); count !== 0; count = readLong(walk)) {
      // avsc skips by this size what the reader's schema lacks: another one would shift all that follows.
      const end = count < 0 ? readLong(walk) + walk.at : null
      walk.items -= Math.abs(count)
      if (walk.items < 0) throw new RangeError('too many items of arrays and maps')
      for (let left = Math.abs(count); left > 0; left--) item(walk)
      if (end !== null && end !== walk.at) throw new RangeError('a block of items with a wrong size')
    }
    walk.depth--
  }
}

function index(walk: Walk, size: number): number {
  const value = readLong(walk, 35)
  if (value < 0 || value >= size) throw new RangeError(`branch or symbol ${value} of ${size}`)
  return value
}

function skipSized(walk: Walk): void {
  const size = readLong(walk)
  if (size < 0) throw new RangeError(`a length of ${size}`)
  skip(walk, size)
}

/** A later `Object.assign` would act on this key, so it is refused as in JSON. */
const refusedKey = Buffer.from('__proto__')

function skipKey(walk: Walk): void {
  const { bytes } = walk
  skipSized(walk)
  const from = walk.at - refusedKey.length
  if (from > 0 && refusedKey.compare(bytes, from, walk.at) === 0)
    throw new RangeError('a key of a map ends in "__proto__", which is refused')
}

function skip(walk: Walk, size: number): void {
  walk.at += size
  if (walk.at > walk.bytes.length) throw new RangeError('the value ends after the last byte')
}

/** A zigzag number; its magnitude is exact below 2^53, and only compared above. */
function readLong(walk: Walk, shiftMax = 70): number {
  const { bytes } = walk
  let value = 0
  for (let shift = 0; shift < shiftMax; shift += 7) {
    const byte = bytes[walk.at]
    if (byte === undefined) throw new RangeError('a number ends after the last byte')
    walk.at++
    value += (byte & 0x7f) * 2 ** shift
    if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }
  throw new RangeError('a number of too many bytes')
}
