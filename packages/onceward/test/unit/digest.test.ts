import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { businessDigestOf, bytesDigest, digestOf } from '../../src/message/digest.ts'

const body = Buffer.from('{"a":1}')
const hex = (digest: Buffer) => digest.toString('hex')

describe('the digest of a message', () => {
  test('is its version, then SHA-256 over the raw bytes', () => {
    const digest = digestOf(body, {}, [])
    assert.equal(digest.length, 33)
    assert.equal(digest[0], 1)
    assert.equal(hex(digest.subarray(1)), hash('sha256', body))
    assert.ok(bytesDigest(body).equals(digest))
  })

  test('distinguishes bytes that decode or parse alike', () => {
    const alike = ['{"a":1}', '{"a": 1}', '{"a":1.0}', '\ufeff{"a":1}', '{"a":1,"a":1}'].map(text =>
      Buffer.from(text),
    )
    const broken = [Buffer.from([0xff]), Buffer.from([0xfe])]
    const digests = [...alike, ...broken].map(bytes => hex(digestOf(bytes, {}, [])))
    assert.equal(new Set(digests).size, digests.length)
  })

  test('leaves headers out that the contract does not list', () => {
    assert.ok(digestOf(body, { trace: 'x' }, []).equals(digestOf(body, { trace: 'y' }, [])))
    assert.ok(digestOf(body, { trace: 'x', t: 'a' }, ['t']).equals(digestOf(body, { t: 'a' }, ['t'])))
  })

  test('covers listed headers, present or absent, in any order of listing', () => {
    const of = (headers: object, listed = ['tenant', 'region']) =>
      hex(digestOf(body, headers as never, listed))
    const digests = [
      of({}),
      of({ tenant: 'a' }),
      of({ region: 'a' }),
      of({ tenant: 'a', region: 'b' }),
      of({ tenant: '' }),
    ]
    assert.equal(new Set(digests).size, digests.length)
    assert.equal(of({ tenant: 'a', region: 'b' }, ['region', 'tenant']), of({ tenant: 'a', region: 'b' }))
    assert.equal(of({ tenant: Buffer.from('a') }), of({ tenant: 'a' }))
  })

  test('frames headers by their lengths, so that body and headers cannot be confused', () => {
    // Few letters, those of the header names among them: what is moved meets what could take its place.
    const part = fc.string({ unit: fc.constantFrom('a', 'b', ':', '1'), maxLength: 5 })
    const parts = fc.record({ body: part, a: part, b: part })
    const digest = ({ body: text, a, b }: { body: string; a: string; b: string }) =>
      hex(digestOf(Buffer.from(text), { a, b }, ['a', 'b']))
    fc.assert(
      fc.property(parts, parts, (one, two) => {
        const same = one.body === two.body && one.a === two.a && one.b === two.b
        assert.equal(digest(one) === digest(two), same)
      }),
    )
    const moved = [
      digestOf(Buffer.from('x'), { a: 'b', b: '' }, ['a', 'b']),
      digestOf(Buffer.from('x'), { a: '', b: 'b' }, ['a', 'b']),
    ]
    assert.notEqual(hex(moved[0]!), hex(moved[1]!))
  })
})

describe('the business digest', () => {
  test('does not depend on the order of members, but on that of lists', () => {
    assert.ok(
      businessDigestOf({ a: 1, b: { c: 2, d: 3 } }).equals(businessDigestOf({ b: { d: 3, c: 2 }, a: 1 })),
    )
    assert.ok(!businessDigestOf([1, 2]).equals(businessDigestOf([2, 1])))
  })

  test('refuses values that JSON would omit, and names them', () => {
    class Money {
      readonly #cents = 5
      cents = () => this.#cents
    }
    const refused: [unknown, RegExp][] = [
      [new Map([[1, 2]]), /the value is an instance of Map without toJSON/],
      [{ lines: new Set([1]) }, /member "lines" is an instance of Set/],
      [{ total: [new Money()] }, /member "0" is an instance of Money/],
      [Promise.resolve(1), /instance of Promise/],
      [{ of: () => 1 }, /member "of" is a function/],
      [[Symbol('x')], /member "0" is a symbol/],
      [{ amount: Number.NaN }, /member "amount" is NaN/],
      [{ at: new Date(Number.NaN) }, /member "at" is a value whose toJSON returns null/],
      [new Uint8Array([1]), /instance of Uint8Array/],
    ]
    for (const [value, text] of refused) assert.throws(() => businessDigestOf(value), text)
  })

  test('accepts objects with toJSON, and objects without a prototype', () => {
    const at = new Date(5)
    assert.ok(businessDigestOf({ at }).equals(businessDigestOf({ at: at.toISOString() })))
    const bare = Object.assign(Object.create(null), { a: 1 })
    assert.ok(businessDigestOf(bare).equals(businessDigestOf({ a: 1 })))
    assert.ok(!businessDigestOf(Buffer.from('a')).equals(businessDigestOf(Buffer.from('b'))))
  })

  test('accepts any value of a contract', () => {
    for (const value of [undefined, null, 5, 'x', 10n, [undefined], { toString: 1 }]) {
      assert.equal(businessDigestOf(value)[0], 1)
    }
  })
})
