import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { BatchSize } from '../../src/engine/consumer/batch-size.ts'

test('a batch starts at its maximum and shrinks in proportion after a slow one', () => {
  const size = new BatchSize({ sizeMax: 500 })
  assert.equal(size.now, 500)
  size.ended(500, 10_000)
  assert.equal(size.now, 50)
})

test('it doubles back while full batches are quick, up to the maximum', () => {
  const size = new BatchSize({ sizeMax: 500 })
  size.ended(500, 10_000)
  const sizes = [1, 2, 3, 4, 5].map(() => {
    size.ended(size.now, 10)
    return size.now
  })
  assert.deepEqual(sizes, [100, 200, 400, 500, 500])
})

test('a quick batch that was not full does not change it', () => {
  const size = new BatchSize({ sizeMax: 500 })
  size.ended(500, 10_000)
  size.ended(3, 1)
  assert.equal(size.now, 50)
})

test('it always stays between one and the maximum', () => {
  const batches = fc.array(fc.tuple(fc.integer({ min: 1, max: 1_000 }), fc.nat(1_000_000)))
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 10_000 }), batches, (sizeMax, history) => {
      const size = new BatchSize({ sizeMax })
      for (const [count, elapsedMs] of history) {
        size.ended(Math.min(count, size.now), elapsedMs)
        assert.ok(Number.isInteger(size.now) && size.now >= 1 && size.now <= sizeMax)
      }
    }),
  )
})
