import assert from 'node:assert/strict'

type Headers = Readonly<Record<string, unknown>>

/** Names that every object inherits, and numbers, which objects put first. */
const inherited = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'valueOf', 'toJSON', '7']

const map = (entries: readonly (readonly [string, unknown])[]): Headers => {
  const made: Record<string, unknown> = Object.create(null)
  for (const [name, value] of entries) made[name] = value
  return made
}

/** Texts under names that have a meaning for objects. */
export const namedLikeInherited: Headers = map(inherited.map(name => [name, `value of ${name}`]))

/** Tables whose prototype would be another table, or bytes: code that takes those for bytes throws. */
export const nestedPrototypes: Headers = map([
  ['__proto__', map([['tenant', 'forged']])],
  [
    'deep',
    map([
      ['__proto__', Buffer.from('bytes')],
      ['list', [map([['__proto__', 'text']])]],
    ]),
  ],
])

/** Every published header is there, under its own name, and no other is. Values may have become bytes. */
export function assertHeaders(found: Headers, published: Headers): void {
  assertBare(found, 'headers')
  for (const [name, value] of Object.entries(published)) {
    assert.ok(Object.hasOwn(found, name), `header ${name} is missing`)
    assert.deepEqual(comparable(found[name]), comparable(value), `header ${name}`)
  }
}

export function assertBare(value: unknown, where: string): void {
  if (value === null || typeof value !== 'object' || value instanceof Uint8Array) return
  if (!Array.isArray(value)) assert.equal(Object.getPrototypeOf(value), null, `${where} has a prototype`)
  for (const [name, part] of Object.entries(value)) assertBare(part, `${where}.${name}`)
}

/** As JSON, which contains own names only. */
function comparable(value: unknown): string {
  if (value instanceof Uint8Array) return JSON.stringify(Buffer.from(value).toString())
  return JSON.stringify(value, (_name, part) =>
    part?.type === 'Buffer' ? Buffer.from(part.data).toString() : part,
  )
}
