import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { classifyFailure } from '../../src/engine/classify-failure.ts'
import { OncewardError } from '../../src/errors.ts'

const coded = (code: string, extra: object = {}) => Object.assign(new Error('m'), { code, ...extra })
class OutOfStock extends Error {
  override readonly name = 'OutOfStock'
}

const rows: readonly [what: string, error: unknown, expected: string][] = [
  ['a refused connection', coded('ECONNREFUSED'), 'transient'],
  ['a timeout', coded('ETIMEDOUT'), 'transient'],
  ['a serialization failure', coded('40001'), 'transient'],
  ['a lock timeout', coded('55P03'), 'transient'],
  ['a value PostgreSQL refuses', coded('22P02'), 'validation'],
  ['a violated constraint', coded('23505'), 'business conflict'],
  ['a missing table', coded('42P01'), 'configuration'],
  ['a wrong password', coded('28P01'), 'configuration'],
  ['a full disk', coded('53100'), 'overload'],
  ['an unknown SQLSTATE', coded('P0001'), 'unclassified'],
  ['HTTP 429', { status: 429 }, 'rate limited'],
  ['HTTP 401', { status: 401 }, 'configuration'],
  ['HTTP 503', { status: 503 }, 'overload'],
  ['HTTP 404', { status: 404 }, 'unclassified'],
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
    test(`${what} may be thrown and is classified all the same`, () => {
      assert.equal(classifyFailure(thrown, {}).class, 'unclassified')
    })
  }
})
