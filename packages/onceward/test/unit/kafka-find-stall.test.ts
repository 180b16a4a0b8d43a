import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findStall } from '../../src/drivers/kafka/find-stall.ts'

const fine = {
  groupMs: 900,
  heartbeatMs: 1_000,
  owed: [{ name: 't/0', forMs: 500 }],
  standing: [],
  unread: [],
}

test('a reader is stalled when an answer is overdue, the group is silent, or a partition does not move, and reports the longest stall', () => {
  assert.equal(findStall(fine), null)
  assert.deepEqual(findStall({ ...fine, owed: [{ name: 't/0', forMs: 2_500 }] }), {
    forMs: 2_500,
    reason: 'no answer from the leader of t/0',
  })
  assert.equal(findStall({ ...fine, groupMs: 4_000 }), null, 'a heartbeat may be late')
  const both = findStall({ ...fine, groupMs: 4_500, standing: [{ name: 't/1', forMs: 9_000 }] })
  assert.deepEqual(both, { forMs: 9_000, reason: 't/1 has records to read and makes no progress' })
  const many = Array.from({ length: 5 }, (_, index) => ({ name: `t/${index}`, forMs: 3_000 }))
  assert.match(findStall({ ...fine, owed: many })!.reason, /t\/0, t\/1, t\/2 and 2 more$/)
})

test('a partition being taken over is no stall within its time limit, and one without an owner is one at once', () => {
  const unread = (forMs: number, isTaking: boolean) =>
    findStall({ ...fine, unread: [{ name: 't/2', forMs, isTaking }] })
  assert.equal(unread(14_000, true), null)
  const reason = 't/2 is assigned but not read yet'
  assert.deepEqual(unread(16_000, true), { forMs: 16_000, reason })
  assert.deepEqual(unread(3_000, false), { forMs: 3_000, reason })
})
