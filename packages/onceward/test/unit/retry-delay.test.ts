import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { retryDelayMs } from '../../src/engine/retry/retry-delay.ts'

const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const policies = fc.record({ delayMs: fc.nat(60_000), delayMaxMs: fc.nat(600_000) })

test('a retry delay is a whole number between zero and the cap, for any attempt', () => {
  fc.assert(
    fc.property(fc.nat(1_000), random, policies, (attempts, jitter, policy) => {
      const delay = retryDelayMs({ attempts, random: jitter }, policy)
      assert.ok(Number.isInteger(delay) && delay >= 0 && delay <= policy.delayMaxMs)
    }),
  )
})

test('the ceiling doubles with every attempt until the cap', () => {
  const policy = { delayMs: 100, delayMaxMs: 1_000 }
  const ceilings = [1, 2, 3, 4, 5, 6].map(attempts => retryDelayMs({ attempts, random: 0.9999 }, policy))
  assert.deepEqual(ceilings, [99, 199, 399, 799, 999, 999])
})

test('full jitter: the delay grows with the random number and may be zero', () => {
  const delay = (jitter: number) =>
    retryDelayMs({ attempts: 4, random: jitter }, { delayMs: 100, delayMaxMs: 10_000 })
  assert.deepEqual([0, 0.25, 0.5, 0.75].map(delay), [0, 200, 400, 600])
})
