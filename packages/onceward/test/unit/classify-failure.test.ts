import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { classifyFailure, concernsEveryMessage } from '../../src/engine/retry/classify-failure.ts'
import { OncewardError } from '../../src/errors.ts'

const coded = (code: string, extra: object = {}) => Object.assign(new Error('m'), { code, ...extra })
class OutOfStock extends Error {
  override readonly name = 'OutOfStock'
}

const rows: readonly [what: string, error: unknown, expected: string][] = [
  ['a refused connection', coded('ECONNREFUSED'), 'transient'],
  ['a timeout', coded('ETIMEDOUT'), 'transient'],
  ['a serialization failure', coded('40001'), 'contention'],
  ['a deadlock', coded('40P01'), 'contention'],
  ['a lock timeout', coded('55P03'), 'transient'],
  ['a value PostgreSQL refuses', coded('22P02'), 'validation'],
  ['a violated constraint', coded('23505'), 'business conflict'],
  ['a missing table', coded('42P01'), 'configuration'],
  ['a missing column', coded('42703'), 'poison'],
  ['a wrong password', coded('28P01'), 'configuration'],
  ['a full disk', coded('53100'), 'overload'],
  ['an unknown SQLSTATE', coded('P0001'), 'unclassified'],
  ['HTTP 429', { status: 429 }, 'rate limited'],
  ['HTTP 401', { status: 401 }, 'configuration'],
  ['HTTP 503', { status: 503 }, 'overload'],
  ['HTTP 404', { status: 404 }, 'unclassified'],
  ['HTTP 409 by another name', { response: { statusCode: 409 } }, 'business conflict'],
  ['HTTP 422', { statusCode: 422 }, 'validation'],
  ['a status that is none', { status: 99_999 }, 'unclassified'],
  ['fetch, refused', new TypeError('fetch failed', { cause: coded('ECONNREFUSED') }), 'transient'],
  ['fetch, too slow', new DOMException('m', 'TimeoutError'), 'transient'],
  ['fetch, aborted', new DOMException('m', 'AbortError'), 'transient'],
  ['undici, no answer', coded('UND_ERR_HEADERS_TIMEOUT'), 'transient'],
  ['an expired certificate inside', new Error('m', { cause: coded('CERT_HAS_EXPIRED') }), 'configuration'],
  ['all addresses refused', new AggregateError([coded('ECONNREFUSED'), coded('ECONNREFUSED')]), 'transient'],
  ['a word of retry policies', coded('DEPENDENCY_UNAVAILABLE'), 'overload'],
  ['a handler past its time', new OncewardError('handler_timeout', 'm'), 'transient'],
  ['a swallowed statement error', new OncewardError('tx_error_swallowed', 'm'), 'poison'],
  ['an effect under a used key', new OncewardError('effect_conflict', 'm'), 'corruption'],
  ['an undeclared target', new OncewardError('effect_unknown_target', 'm'), 'configuration'],
  ['any other error', new TypeError('m'), 'unclassified'],
  ['a string', 'broken', 'unclassified'],
  ['nothing', undefined, 'unclassified'],
  ['a code named like an inherited member', coded('constructor'), 'unclassified'],
]

describe('the class of a failure', () => {
  for (const [what, error, expected] of rows) {
    test(`${what}: ${expected}`, () => assert.equal(classifyFailure(error, {}).class, expected))
  }

  test('the contract’s own table comes first, by code, then by class name', () => {
    const classes = { '23505': 'transient', OutOfStock: 'business conflict', E1: 'validation' } as const
    assert.equal(classifyFailure(coded('23505'), classes).class, 'transient')
    assert.equal(classifyFailure(new OutOfStock('m'), classes).class, 'business conflict')
    assert.equal(
      classifyFailure(Object.assign(new OutOfStock('m'), { code: 'E1' }), classes).class,
      'validation',
    )
  })

  test('a missing table concerns every message, unless the contract lists its code', () => {
    assert.equal(concernsEveryMessage(coded('42P01'), {}), true)
    assert.equal(concernsEveryMessage(new Error('m', { cause: coded('42501') }), {}), true)
    assert.equal(concernsEveryMessage(coded('42P01'), { '42P01': 'poison' }), false)
    assert.equal(concernsEveryMessage(coded('42703'), {}), false)
    assert.equal(concernsEveryMessage(coded('23505'), {}), false)
  })

  test('the contract may name SQLSTATE classes and HTTP statuses', () => {
    const classes = { '23xxx': 'transient', '503': 'rate limited', '5xx': 'validation' } as const
    assert.equal(classifyFailure(coded('23514'), classes).class, 'transient')
    assert.equal(classifyFailure({ status: 503 }, classes).class, 'rate limited')
    assert.equal(classifyFailure({ status: 500 }, classes).class, 'validation')
  })

  test("a contract's class for a cause overrides a default for its outer error", () => {
    const error = Object.assign(new Error('m', { cause: new OutOfStock('m') }), { code: 'ETIMEDOUT' })
    const found = classifyFailure(error, { OutOfStock: 'business conflict' })
    assert.deepEqual([found.class, found.code], ['business conflict', 'OutOfStock'])
  })

  test('circular, endless and hostile causes are handled', () => {
    const circle = new Error('a')
    circle.cause = circle
    assert.equal(classifyFailure(circle, {}).class, 'unclassified')
    let deep = new Error('deep')
    for (let n = 0; n < 10_000; n++) deep = new Error('m', { cause: deep })
    assert.equal(classifyFailure(deep, {}).class, 'unclassified')
    const wide = new AggregateError(Array.from({ length: 10_000 }, () => coded('x')))
    assert.equal(classifyFailure(wide, {}).class, 'unclassified')
    const hostile = {
      get cause() {
        throw new Error('no')
      },
      get code() {
        throw new Error('no')
      },
    }
    assert.equal(classifyFailure(hostile, {}).class, 'unclassified')
  })

  test('the place is where the user’s code threw, without the path to it', () => {
    const { place } = classifyFailure(new Error('m'), {})
    assert.match(place, /classify-failure\.test\.ts:\d+/)
    assert.doesNotMatch(place, /[/\\]/)
    assert.equal(classifyFailure('text', {}).place, '')
    assert.equal(classifyFailure({ stack: 7 }, {}).place, '')
  })

  test('the text of an error is bounded and storable', () => {
    const { error, code } = classifyFailure(new Error(`a\0b${'x'.repeat(10_000)}`), {})
    assert.equal(code, 'Error')
    assert.ok(error.length <= 2_000 && error.startsWith('Error: a\\0b'))
  })

  for (const [what, thrown] of Object.entries({
    'an object without a prototype': Object.create(null),
    'an object that refuses to become text': { toString: 1, valueOf: 1 },
    'an object whose toString throws': {
      toString: () => {
        throw new Error('no')
      },
    },
    'a symbol': Symbol('s'),
    'a bigint': 1n,
  })) {
    test(`${what} may be thrown and is still classified`, () => {
      assert.equal(classifyFailure(thrown, {}).class, 'unclassified')
    })
  }
})
