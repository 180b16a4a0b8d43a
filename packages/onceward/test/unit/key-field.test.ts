import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { keyField } from '../../src/effects/declared/fields.ts'
import { isVerdict } from '../../src/engine/batch/verdicts.ts'

describe('the key of a declared effect', () => {
  it('is a value with one text', () => {
    const day = new Date('2026-01-02T00:00:00Z')
    const keys = ['red', 7, 7n, false, day].map(value => keyField(value, 'key'))
    assert.deepEqual(keys, ['red', '7', '7', 'false', day.toISOString()])
  })

  it('is not a value that several share', () => {
    for (const value of [
      undefined,
      null,
      '',
      Number.NaN,
      1.5,
      2 ** 53,
      {},
      Object.create(null),
      [],
      ['red'],
      () => 1,
      new Map(),
    ])
      assert.throws(() => keyField(value, 'key'), isVerdict)
  })
})
