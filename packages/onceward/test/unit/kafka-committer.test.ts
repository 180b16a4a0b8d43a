import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { CommitAnswer, OffsetToCommit } from '../../src/drivers/kafka/client/kafka-client.ts'
import { Committer, type PartitionLease } from '../../src/drivers/kafka/committer.ts'
import { PartitionProgress } from '../../src/drivers/log/partition-progress.ts'
import { until } from '../../src/testing/until.ts'

/** A broker that answers on request. */
function rig(t: TestContext, restMs = 0) {
  const sent: { offsets: readonly OffsetToCommit[]; answer: (with_: CommitAnswer) => void }[] = []
  const troubles: string[] = []
  const committer = new Committer({
    send: offsets => {
      const { promise, resolve } = Promise.withResolvers<CommitAnswer>()
      sent.push({ offsets, answer: resolve })
      return promise
    },
    leaderEpochAt: () => 4,
    restMs,
    onTrouble: reason => troubles.push(reason),
  })
  t.after(() => committer.close())
  const member = { id: 'm', epoch: 1, live: true }
  const lease = (partition: number): PartitionLease => ({
    partition,
    progress: new PartitionProgress(`t/${partition}`, 1, { incarnation: 'i', next: '0' }),
    member,
    metadata: '',
    confirmed: '0',
  })
  const committed = (index: number) =>
    sent[index]!.offsets.map(({ partition, offset }) => `${partition}@${offset}`)
  return { committer, sent, troubles, member, lease, committed }
}

describe('the committer', () => {
  test('sends at once, and positions that move meanwhile join the next request', async t => {
    const { committer, sent, lease, committed } = rig(t)
    const [a, b] = [lease(0), lease(1)]
    a.progress.pass('1')
    committer.note(a)
    await until('the first is sent', () => sent.length === 1)
    for (const next of ['2', '3', '4']) {
      a.progress.pass(next)
      committer.note(a)
    }
    b.progress.pass('7')
    committer.note(b)
    assert.equal(sent.length, 1, 'one in flight')
    sent[0]!.answer({ kind: 'confirmed' })
    await until('the second is sent', () => sent.length === 2)
    assert.deepEqual([committed(0), committed(1)], [['0@1'], ['0@4', '1@7']])
    assert.equal(sent[1]!.offsets[0]!.leaderEpoch, 4)
  })

  test('positions that move in one turn of the event loop are sent together', async t => {
    const { committer, sent, lease, committed } = rig(t)
    for (const one of [lease(0), lease(1)]) {
      one.progress.pass('5')
      committer.note(one)
    }
    await until('they are sent', () => sent.length === 1)
    assert.deepEqual(committed(0), ['0@5', '1@5'])
  })

  test('a waiting caller resumes when the position it saw is committed, and not before', async t => {
    const { committer, sent, lease } = rig(t, 60_000)
    const one = lease(0)
    one.progress.pass('1')
    committer.note(one)
    await until('the first is sent', () => sent.length === 1)
    one.progress.pass('2')
    let answered = false
    const waiting = committer.commit([one]).then(missed => {
      answered = true
      return missed
    })
    sent[0]!.answer({ kind: 'confirmed' })
    await until('it does not rest while somebody waits', () => sent.length === 2)
    assert.equal(answered, false)
    sent[1]!.answer({ kind: 'confirmed' })
    assert.equal(await waiting, 0)
    assert.equal(one.confirmed, '2')
    assert.equal(await committer.commit([one]), 0, 'nothing to commit')
  })

  test('a retriable refusal is repeated with the current position', async t => {
    const { committer, sent, lease, committed } = rig(t)
    const one = lease(0)
    one.progress.pass('1')
    const waiting = committer.commit([one])
    await until('it is sent', () => sent.length === 1)
    one.progress.pass('2')
    sent[0]!.answer({ kind: 'later', reason: 'a rebalance' })
    await until('it is sent again', () => sent.length === 2)
    assert.deepEqual(committed(1), ['0@2'])
    sent[1]!.answer({ kind: 'confirmed' })
    assert.equal(await waiting, 0)
  })

  test('a retriable refusal is not repeated at once, although a caller waits', async t => {
    const { committer, sent, lease } = rig(t, 100)
    const one = lease(0)
    one.progress.pass('1')
    void committer.commit([one])
    await until('it is sent', () => sent.length === 1)
    sent[0]!.answer({ kind: 'later', reason: 'a rebalance' })
    for (let turn = 0; turn < 10; turn++) await new Promise(resolve => setImmediate(resolve))
    assert.equal(sent.length, 1)
    await until('it is sent again', () => sent.length === 2)
  })

  test('nothing is repeated once the membership or the ownership has ended', async t => {
    const { committer, sent, lease, member } = rig(t)
    const [a, b] = [lease(0), lease(1)]
    for (const one of [a, b]) one.progress.pass('1')
    const waiting = committer.commit([a, b])
    await until('it is sent', () => sent.length === 1)
    a.progress.end()
    member.live = false
    sent[0]!.answer({ kind: 'later', reason: 'a rebalance' })
    assert.equal(await waiting, 2)
    assert.equal(sent.length, 1)
  })

  test('a fenced member is answered at once, a refusal is reported', async t => {
    const { committer, sent, lease, troubles } = rig(t)
    const one = lease(0)
    one.progress.pass('1')
    const waiting = committer.commit([one])
    await until('it is sent', () => sent.length === 1)
    sent[0]!.answer({ kind: 'fenced', reason: 'unknown member' })
    assert.equal(await waiting, 1)
    one.progress.pass('2')
    const again = committer.commit([one])
    await until('it is sent', () => sent.length === 2)
    sent[1]!.answer({ kind: 'refused', reason: 'no permission' })
    await until('the refusal is reported', () => troubles.length === 1)
    committer.close()
    assert.equal(await again, 1, 'closing ends every wait')
  })
})
