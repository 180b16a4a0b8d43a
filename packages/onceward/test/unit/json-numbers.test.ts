import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { withDefaults } from '../../src/contract/options/defaults.ts'
import { jsonBigintCodec, jsonCodec, jsonRoundedCodec } from '../../src/message/codec.ts'
import { InexactNumber, inexactOf } from '../../src/message/inexact-numbers.ts'
import { mayLoseDigits } from '../../src/message/json-numbers.ts'

const defaultLimits = withDefaults('message.limits', {})

const read = (text: string, codec = jsonCodec) => codec.decode(Buffer.from(text), defaultLimits, {} as never)

/** Any number JSON can write. */
const literals = fc
  .tuple(
    fc.boolean(),
    fc.stringMatching(/^(0|[1-9]\d{0,24})$/),
    fc.option(fc.stringMatching(/^\d{1,24}$/), { nil: '' }),
    fc.option(fc.integer({ min: -30, max: 30 }), { nil: null }),
  )
  .map(
    ([negative, whole, fraction, exponent]) =>
      `${negative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}${exponent === null ? '' : `e${exponent}`}`,
  )
const padding = fc.string({ unit: fc.constantFrom('a', '1', ' ', '.', '-'), maxLength: 40 })

/** By another way: the decimal as a fraction of whole numbers. */
function isKept(literal: string): boolean {
  const [a, b] = [literal, String(Number(literal))].map(fractionOf)
  return a!.units * 10n ** b!.places === b!.units * 10n ** a!.places
}

function fractionOf(text: string): { units: bigint; places: bigint } {
  const [mantissa, exponent = '0'] = text.toLowerCase().split('e') as [string, string?]
  const [whole, fraction = ''] = mantissa.split('.') as [string, string?]
  const shift = BigInt(fraction.length) - BigInt(exponent)
  const units = BigInt(whole + fraction)
  return shift >= 0n ? { units, places: shift } : { units: units * 10n ** -shift, places: 0n }
}

describe('numbers of a JSON body', () => {
  test('whose digits are lost are found at any place', () => {
    fc.assert(
      fc.property(literals, padding, padding, (literal, text, more) => {
        const body = Buffer.from(`{"${text}":"${more}","x":[1,${literal} ],"y":"${more}"}`)
        if (!isKept(literal)) assert.equal(mayLoseDigits(body), true)
      }),
      { numRuns: 2_000 },
    )
  })

  test('are kept, refused, converted to bigint or noted, and never silently rounded', () => {
    fc.assert(
      fc.property(literals, literal => {
        const { units, places } = fractionOf(literal)
        const isPlain = /^-?\d+$/.test(literal)
        const isSafe = Math.abs(Number(literal)) <= Number.MAX_SAFE_INTEGER
        const isWide = units % 10n ** places === 0n && !isSafe
        const body = `{"x":[${literal}]}`
        if (isKept(literal) && (!isPlain || isSafe)) {
          const message = read(body) as { x: number[] }
          assert.deepEqual(message, JSON.parse(body))
          assert.equal(inexactOf(message), null)
        } else if (isWide) {
          assert.throws(() => read(body), InexactNumber)
          assert.deepEqual(read(body, jsonBigintCodec), { x: [units / 10n ** places] })
          assert.deepEqual(read(body, jsonRoundedCodec), JSON.parse(body))
        } else {
          const message = read(body) as { x: number[] }
          assert.equal(inexactOf(message)?.get(message.x[0]!), literal)
        }
      }),
      { numRuns: 2_000 },
    )
  })

  for (const [body, field, digits] of [
    ['{"account":9007199254740993}', 'field "account"', '9007199254740993'],
    ['{"account": -9007199254740992 }', 'field "account"', '-9007199254740992'],
    ['{"lines":[{"a.b":1},{"sku":12345678901234567890}]}', 'field "lines.1.sku"', '12345678901234567890'],
    ['9007199254740993', 'the body', '9007199254740993'],
    ['{"account":9007199254740993.0}', 'field "account"', '9007199254740993'],
    ['{"account":-9.007199254740993E+15}', 'field "account"', '-9007199254740993'],
  ] as const)
    test(`${body} is refused by name, with the fix`, () =>
      assert.throws(() => read(body), {
        message: `${field} is ${digits}, a whole number that a JavaScript number would round; send it as text, or set message.codec to jsonBigintCodec, or to jsonRoundedCodec if it may be rounded`,
      }))

  test('beyond every double are noted at once, however large the exponent', () => {
    const message = read('{"x":1.0000000000000000001e999999999}') as { x: number }
    assert.equal(inexactOf(message)?.get(message.x), '1.0000000000000000001e999999999')
  })

  test('long digits in strings are not numbers', () => {
    for (const text of [
      'DE89370400440532013000',
      '9007199254740993',
      'card 4111111111111111',
      '1,4111111111111111',
    ])
      assert.deepEqual(read(JSON.stringify({ text })), { text })
    assert.equal(
      mayLoseDigits(Buffer.from('{"iban":"DE89370400440532013000","id":"9007199254740993"}')),
      false,
    )
  })

  test('members that are refused are refused beside long numbers', () =>
    assert.throws(() => read('{"\\u005f_proto__":1,"x":0.10000000000000000001}'), /__proto__/))
})
