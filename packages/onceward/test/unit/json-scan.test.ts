import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { withDefaults } from '../../src/contract/options/defaults.ts'
import { jsonCodec } from '../../src/message/codec.ts'
import { isPlainlyWithin, scanJson } from '../../src/message/json-scan.ts'

const defaultLimits = withDefaults('message.limits', {})

const scan = (text: string, depthMax: number, keysMax = 1_000_000) => {
  scanJson(Buffer.from(text), { depthMax, keysMax })
}
/** Strings full of what a careless scan trips over. */
const tricky = fc.oneof(
  fc.string({ unit: fc.constantFrom('"', '\\', '[', '{', ']', ':', 'é') }),
  fc.string({ unit: 'binary' }),
)
const { tree: values } = fc.letrec<{ tree: unknown }>(tie => ({
  tree: fc.oneof(
    { maxDepth: 6, withCrossShrink: true },
    tricky,
    fc.integer(),
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(
      tricky.filter(name => name !== '__proto__'),
      tie('tree'),
      { maxKeys: 4 },
    ),
  ),
}))

function measure(value: unknown): { depth: number; keys: number } {
  if (value === null || typeof value !== 'object') return { depth: 0, keys: 0 }
  const inner = Object.values(value).map(measure)
  return {
    depth: 1 + Math.max(0, ...inner.map(({ depth }) => depth)),
    keys: (Array.isArray(value) ? 0 : inner.length) + inner.reduce((sum, { keys }) => sum + keys, 0),
  }
}

describe('the scan before parsing', () => {
  test('accepts exactly the depth and the members a value has, however it is written', () => {
    fc.assert(
      fc.property(values, fc.nat(3), (value, indent) => {
        const text = JSON.stringify(value, null, indent)
        const { depth, keys } = measure(JSON.parse(text))
        scan(text, depth, keys)
        if (depth > 0) assert.throws(() => scan(text, depth - 1, keys), /nested deeper/)
        if (keys > 0) assert.throws(() => scan(text, depth, keys - 1), /more than/)
        if (depth > 0) assert.equal(isPlainlyWithin(text, { depthMax: depth - 1, keysMax: 1e6 }), false)
        if (keys > 0) assert.equal(isPlainlyWithin(text, { depthMax: 1e6, keysMax: keys - 1 }), false)
      }),
    )
  })

  test('is skipped for a text too small to exceed a limit', () => {
    assert.equal(isPlainlyWithin('{"a":[1]}', { depthMax: 2, keysMax: 9 }), true)
    assert.equal(isPlainlyWithin('{"a":[1]}', { depthMax: 1, keysMax: 9 }), false)
    assert.equal(isPlainlyWithin('{"a":[1]}', { depthMax: 2, keysMax: 8 }), false)
  })

  test('ignores the content of strings', () => {
    for (const text of ['"[[[[{{{{:::"', '"\\"[[["', '"\\\\"', '["\\\\\\"[","["]', '"\\u005b["'])
      scan(text, 1, 0)
    assert.throws(() => scan('["\\\\",[]]', 1), /nested deeper/, 'an escaped backslash ends the string')
  })

  test('handles text that is not JSON', () => {
    for (const text of ['"', '"\\', ']]]]', '', '{"a":', '\\"', '"'.repeat(1_001)]) scan(text, 1, 1)
  })

  test('ends in time on a million quotes and backslashes', () => {
    scan(`"${'\\'.repeat(1_000_000)}"`, 1)
    scan('"\\"'.repeat(300_000), 1)
  })
})

describe('the JSON codec', () => {
  const decode = (bytes: Buffer | string) =>
    jsonCodec.decode(Buffer.from(bytes), defaultLimits, { headers: {}, properties: {}, key: null })

  test('gives back what was written', () => {
    fc.assert(
      fc.property(values, value =>
        assert.deepEqual(decode(JSON.stringify(value)), JSON.parse(JSON.stringify(value))),
      ),
    )
  })

  for (const [what, bytes] of Object.entries({
    'broken UTF-8': Buffer.from([0x22, 0xc3, 0x28, 0x22]),
    'a byte order mark': Buffer.from('\ufeff{}'),
    'a __proto__ member': '{"a":{"__proto__":{"admin":true}}}',
    'a __proto__ member in disguise': '{"\\u005f_proto__":1}',
    'a disguise in capitals': '{"\\u005F\\u005Fproto__":1}',
    'nesting past the limit': '['.repeat(65) + ']'.repeat(65),
    'five million brackets': '['.repeat(5_000_000),
    nothing: '',
  })) {
    test(`refuses ${what}`, () => assert.throws(() => decode(bytes)))
  }

  test('takes the text "__proto__" as a value', () =>
    assert.deepEqual(decode('["__proto__"]'), ['__proto__']))
})
