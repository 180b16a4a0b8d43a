import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findStall } from '../../src/sources/kafka/find-stall.ts'

const fine = { groupMs: 900, heartbeatMs: 1_000, owed: [{ name: 't/0', forMs: 500 }], standing: [] }

test('a reader is stalled when an answer is owed, the group is silent, or a partition stands, and says the longest', () => {
  assert.equal(findStall(fine), null)
  assert.deepEqual(findStall({ ...fine, owed: [{ name: 't/0', forMs: 2_500 }] }), {
    forMs: 2_500,
    reason: 'no answer from the leader of t/0',
  })
  assert.equal(findStall({ ...fine, groupMs: 4_000 }), null, 'a heartbeat may be late')
  const both = findStall({ ...fine, groupMs: 4_500, standing: [{ name: 't/1', forMs: 9_000 }] })
  assert.deepEqual(both, { forMs: 9_000, reason: 't/1 has something to read and does not move' })
  const many = Array.from({ length: 5 }, (_, index) => ({ name: `t/${index}`, forMs: 3_000 }))
  assert.match(findStall({ ...fine, owed: many })!.reason, /t\/0, t\/1, t\/2 and 2 more$/)
})
