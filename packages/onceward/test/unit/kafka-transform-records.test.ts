import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { toOutgoing } from '../../src/drivers/kafka/transform-records.ts'

const input = { topic: 'from', partition: 0, offset: 7, key: null, value: null, headers: {}, timestampMs: 5 }

describe('an output of a transform', () => {
  test('has the timestamp of its input by default', () => {
    assert.equal(toOutgoing({ topic: 'to', value: 'a' }, input).timestampMs, 5)
  })

  for (const wrong of [
    { timestampMs: 1.5 },
    { timestampMs: Number.NaN },
    { timestampMs: -1 },
    { partition: -1 },
    { partition: 0.5 },
  ]) {
    test(`with ${Object.keys(wrong)[0]} ${Object.values(wrong)[0]} is refused, and not tried again for ever`, () => {
      assert.throws(() => toOutgoing({ topic: 'to', value: 'a', ...wrong }, input), { code: 'usage' })
    })
  }
})
