import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  decidePosition,
  lossError,
  outOfRange,
  type PartitionStanding,
} from '../../src/drivers/kafka/loss.ts'

const at = (next: number, incarnation = 'topic 1') => ({ incarnation, next: String(next) })
const committed = (offset: number, leaderEpoch = 3) => ({ offset, leaderEpoch, metadata: '' })

const decide = (
  changes: Partial<Omit<PartitionStanding, 'ownership'>> & Partial<PartitionStanding['ownership']>,
) => {
  const { stored = null, resumeAt = null, ...rest } = changes
  return decidePosition({
    progress: 'broker',
    ownership: { partition: 't/0', stored, resumeAt },
    incarnation: 'topic 1',
    committed: null,
    bounds: { start: 100, end: 200 },
    start: null,
    ...rest,
  })
}
const lost = (decision: ReturnType<typeof decide>) => {
  assert.equal(decision.kind, 'lost')
  return decision.kind === 'lost' ? decision.loss : assert.fail()
}

describe('the start position of a partition', () => {
  test('a new partition begins where the contract says, or not at all', () => {
    assert.deepEqual(decide({}), { kind: 'unstarted' })
    assert.deepEqual(decide({ start: 100 }), { kind: 'read', offset: 100, leaderEpoch: -1, isNew: true })
  })

  test('a group that other clients used is taken over at its position', () => {
    assert.deepEqual(decide({ committed: committed(150), start: 100 }), {
      kind: 'read',
      offset: 150,
      leaderEpoch: 3,
      isNew: true,
    })
  })

  test("the broker's position counts, or the store's where it is authoritative", () => {
    const both = { stored: at(120), committed: committed(150) }
    assert.deepEqual(decide(both), { kind: 'read', offset: 150, leaderEpoch: 3, isNew: false })
    for (const progress of ['store', 'only'] as const) {
      assert.deepEqual(decide({ ...both, progress }), {
        kind: 'read',
        offset: 120,
        leaderEpoch: -1,
        isNew: false,
      })
    }
  })

  test('a position before the start of the log is a loss of what lies between', () => {
    const loss = lost(decide({ stored: at(50), committed: committed(60) }))
    assert.deepEqual([loss.from, loss.to, loss.records], [at(60), at(100), 40])
    assert.equal(lost(decide({ stored: at(50), progress: 'only' })).records, 50)
    assert.equal(lost(decide({ committed: committed(60) })).records, 40, 'also where we never began')
  })

  test('a position past the end never skips where markers recognise what is read again', () => {
    assert.deepEqual(lost(decide({ stored: at(50), committed: committed(201) })).to, at(100))
    assert.deepEqual(lost(decide({ stored: at(300), progress: 'only' })).to, at(200))
    assert.equal(decide({ stored: at(50), committed: committed(200) }).kind, 'read', 'the end itself is fine')
  })

  test('a topic that was created again is a loss for any position of the broker', () => {
    for (const progress of ['broker', 'store', 'only', 'first'] as const) {
      const loss = lost(decide({ stored: at(150, 'topic 0'), committed: committed(150), progress }))
      assert.deepEqual([loss.from, loss.to, loss.records], [at(150, 'topic 0'), at(100), null])
    }
  })

  test('expired offsets are a loss where the broker is authoritative, and none where the store is', () => {
    const loss = lost(decide({ stored: at(120) }))
    assert.match(loss.reason, /expired/)
    assert.deepEqual(loss.to, at(120))
    assert.deepEqual(lost(decide({ stored: at(20) })).to, at(100))
    assert.equal(decide({ stored: at(120), progress: 'store' }).kind, 'read')
    assert.deepEqual(
      decide({ stored: at(200) }),
      { kind: 'read', offset: 200, leaderEpoch: -1, isNew: true },
      'nothing was written since',
    )
  })

  test('an accepted loss continues at its end, and is another loss when that is gone too', () => {
    const accepted = { stored: at(50), resumeAt: at(100), committed: committed(60) }
    assert.deepEqual(decide(accepted), { kind: 'read', offset: 100, leaderEpoch: -1, isNew: true })
    assert.equal(lost(decide({ ...accepted, resumeAt: at(90) })).records, 10)
  })

  test('a truncated log continues where the two logs diverge', () => {
    const found = { kind: 'truncated', at: 140, leaderEpoch: 4, bounds: { start: 100, end: 200 } } as const
    assert.deepEqual(outOfRange('t/0', at(150), found, 'broker')!.to, at(140))
    const unknown = { ...found, at: null }
    assert.deepEqual(outOfRange('t/0', at(150), unknown, 'store')!.to, at(100), 'markers recognise the rest')
    assert.deepEqual(outOfRange('t/0', at(150), unknown, 'only')!.to, at(150), 'nothing would')
  })

  test('the error says what happened, how much, and what to do', () => {
    const error = lossError([lost(decide({ stored: at(50), committed: committed(60) }))])
    assert.equal(error.code, 'records_lost')
    assert.match(error.message, /t\/0@60.*At most 40 records.*Nothing was settled.*accept the loss/)
  })
})
