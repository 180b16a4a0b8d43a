import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { idText, readId, storableText } from '../../src/message/identity.ts'

const kept = [
  'a',
  '550e8400-e29b-41d4-a716-446655440000',
  'order:17',
  'a b',
  'Ünïcödé',
  '🚚',
  '"quoted"',
  "'; --",
  '\\',
  'x'.repeat(200),
]
const missing = [undefined, null, '', ' ', '\t\n']
const malformed = [
  ' a',
  'a ',
  '\u00a0a',
  'a\0b',
  'a\u0007',
  'a\u009f',
  'a\nb',
  '\ud800',
  'x'.repeat(4_097),
  {},
  [],
  true,
  1.5,
  2 ** 53,
  Number.NaN,
  Symbol('s'),
  () => 'a',
]

describe('an id', () => {
  for (const id of kept)
    test(`${id.slice(0, 40)} is kept as it is`, () => assert.deepEqual(readId(id), { id }))
  for (const value of missing) {
    test(`${JSON.stringify(value) ?? 'undefined'} is missing`, () =>
      assert.equal((readId(value) as { problem?: string }).problem, 'missing'))
  }
  for (const value of malformed) {
    test(`${String(JSON.stringify(value) ?? String(value)).slice(0, 40)} is malformed`, () =>
      assert.equal((readId(value) as { problem?: string }).problem, 'malformed'))
  }

  test('may be a whole number, which is its text', () => {
    assert.deepEqual(readId(17), { id: '17' })
    assert.deepEqual(readId(2n ** 64n), { id: '18446744073709551616' })
  })

  test('that is a number is the identity of its decimal text, in one form', () => {
    for (const [number, text] of [
      [7, '7'],
      [-0, '0'],
      [1e3, '1000'],
      [Number.MAX_SAFE_INTEGER, '9007199254740991'],
    ] as const)
      assert.deepEqual(readId(number), readId(text))
    assert.notDeepEqual(readId('07'), readId(7))
  })

  test('that is invalid is refused by name', () => {
    const names: [unknown, RegExp][] = [
      [1.5, /is the fraction 1\.5,/],
      [2 ** 53, /is a whole number of 2\^53 or more/],
      [Number.NaN, /is NaN,/],
      [Number.NEGATIVE_INFINITY, /is -Infinity,/],
      [false, /is a boolean,/],
      [{}, /is an object,/],
      [Object.create(null), /is an object,/],
      [[1], /is a list,/],
      ['', /is an empty text/],
    ]
    for (const [value, text] of names) assert.match((readId(value) as { text: string }).text, text)
  })

  test('that is only shown has the same form, and is never cut', () => {
    assert.equal(idText(7), '7')
    const long = 'x'.repeat(300)
    assert.notEqual(idText(`${long}1`), idText(`${long}2`))
    assert.equal(idText({}), '[object Object]')
    assert.equal(idText(undefined), null)
  })

  test('is case-sensitive', () => assert.notDeepEqual(readId('abc'), readId('ABC')))

  test('above 200 bytes is keyed by its hash, never below', () => {
    const { id } = readId('x'.repeat(201)) as { id: string }
    assert.match(id, /^sha256:[0-9a-f]{64}$/)
    assert.match((readId('é'.repeat(101)) as { id: string }).id, /^sha256:/, 'bytes count, not characters')
    assert.deepEqual(readId('é'.repeat(100)), { id: 'é'.repeat(100) })
  })

  test('that looks like a hashed one is distinct from it', () => {
    const hashed = (readId('x'.repeat(300)) as { id: string }).id
    assert.notDeepEqual(readId(hashed), { id: hashed })
  })

  test('of any text is either refused or storable, and no two ids share a key', () => {
    const seen = new Map<string, string>()
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), text => {
        const reading = readId(text)
        if ('problem' in reading) return
        assert.ok(
          reading.id.isWellFormed() && Buffer.byteLength(reading.id) <= 200 && !reading.id.includes('\0'),
        )
        assert.equal(seen.get(reading.id) ?? text, text)
        seen.set(reading.id, text)
      }),
    )
  })
})

describe('a fact for display', () => {
  test('becomes text that any database can store', () => {
    assert.equal(storableText('a\0b\ud800'), 'a\\0b\ufffd')
    assert.equal(storableText(7), '7')
    assert.equal(storableText(undefined), null)
    assert.equal(storableText('x'.repeat(500))!.length, 200)
  })

  for (const [what, value] of Object.entries({
    'an object that refuses to become text': JSON.parse('{"toString":1,"valueOf":1}'),
    'an object without a prototype': Object.create(null),
  })) {
    test(`may be ${what}: reading never throws`, () => assert.doesNotThrow(() => storableText(value)))
  }
})
