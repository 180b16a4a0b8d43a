import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { randomName } from './fixture.ts'
import { startMember } from './member.ts'
import { consume, openCluster, openReader } from './reader.ts'

const spread = (from: number, count: number, partitions: number) =>
  Array.from({ length: count }, (_, index) => ({
    value: `m${from + index}`,
    partition: (from + index) % partitions,
  }))

describe('members of a Kafka group', await skipWithout('kafka'), () => {
  for (const protocol of ['classic', 'consumer'] as const) {
    describe(protocol, () => {
      test('share the partitions when one joins, and take them over when it leaves; nothing is lost or doubled', async t => {
        const kafka = await openCluster(t)
        const name = await kafka.createTopic({ partitions: 4 })
        const shared = { group: randomName('group'), protocol, checkpoints: new MemoryCheckpoints() }
        const first = await openReader(kafka, name, shared)
        await first.untilOwns(4)
        const seenByFirst = consume(first)
        await kafka.produce(name, spread(0, 40, 4))
        const second = await openReader(kafka, name, shared)
        const seenBySecond = consume(second)
        await second.untilOwns(2)
        await first.untilOwns(2)
        assert.deepEqual(
          [...first.owned(), ...second.owned()].sort(),
          [0, 1, 2, 3].map(p => `${name}/${p}`),
        )
        await kafka.produce(name, spread(40, 40, 4))
        await until('all have come', () => seenByFirst.length + seenBySecond.length === 80)
        await second.close()
        await first.untilOwns(4)
        await kafka.produce(name, spread(80, 40, 4))
        await until('all have come', () => seenByFirst.length + seenBySecond.length === 120)
        const all = [...seenByFirst, ...seenBySecond]
        assert.equal(new Set(all).size, 120, 'each came once')
        assert.ok(seenBySecond.length >= 20, 'both had a share')
      })

      test('a partition continues only when its old owner has finished and committed, however long that takes', async t => {
        const kafka = await openCluster(t)
        const name = await kafka.createTopic({ partitions: 2 })
        const group = randomName('group')
        await kafka.produce(name, spread(0, 20, 2))
        let revoked: readonly string[] = []
        const finish = Promise.withResolvers<void>()
        const onRevoke = (partitions: readonly string[]) => {
          revoked = partitions
          return finish.promise
        }
        const checkpoints = new MemoryCheckpoints()
        const first = await openReader(kafka, name, { group, protocol, checkpoints, log: { onRevoke } })
        const held = await first.take(20)
        const second = await openReader(kafka, name, { group, protocol, checkpoints })
        await until('something is revoked', () => revoked.length === 1)
        const began = performance.now()
        await until('more than a session has passed', () => performance.now() - began > 7_000)
        assert.deepEqual(second.owned(), [], 'the other waits')
        const moving = held.filter(({ partition }) => revoked.includes(partition))
        const staying = held.filter(({ partition }) => !revoked.includes(partition))
        assert.ok(
          moving.every(delivery => !first.subscription.isLive(delivery)),
          'held work is not tried again',
        )
        assert.ok(
          staying.every(delivery => first.subscription.isLive(delivery)),
          'the rest flows',
        )
        // The first settling is committed at once, the second would rest a while: the end of the drain
        // commits it.
        assert.deepEqual(await first.subscription.settle(moving.slice(0, 3)), { missed: 0 })
        await until('three are committed', async () =>
          [...(await kafka.committed(group, name)).values()].includes(3),
        )
        assert.deepEqual(await first.subscription.settle(moving.slice(3, 6)), { missed: 0 })
        finish.resolve()
        const [next] = await second.take(1)
        assert.equal(next!.place!.at, '6', 'it goes on behind what was settled during the drain')
        assert.equal(next!.place!.epoch, 2)
        assert.deepEqual(await first.subscription.settle(moving.slice(6)), { missed: 4 })
        assert.deepEqual(await first.subscription.settle(staying), { missed: 0 })
      })

      test('a static member returns to its partitions without a rebalance', async t => {
        const kafka = await openCluster(t)
        const name = await kafka.createTopic({ partitions: 4 })
        // Long enough that a slow machine, too, is back before the session is over.
        const session = { protocol, sessionTimeoutMs: 30_000 }
        const shared = { group: randomName('group'), ...session, checkpoints: new MemoryCheckpoints() }
        const first = await openReader(kafka, name, { ...shared, instance: 'one' })
        const second = await openReader(kafka, name, { ...shared, instance: 'two' })
        await first.untilOwns(2)
        await second.untilOwns(2)
        const had = first.owned()
        const eventsBefore = second.events.length
        await first.close()
        const began = performance.now()
        await until('a few heartbeats have passed', () => performance.now() - began > 7_000)
        const again = await openReader(kafka, name, { ...shared, instance: 'one' })
        await again.untilOwns(2)
        assert.deepEqual(again.owned(), had)
        await kafka.produce(name, spread(0, 8, 4))
        assert.equal((await again.take(4)).length, 4)
        assert.equal((await second.take(4)).length, 4)
        assert.deepEqual(second.events.slice(eventsBefore), [])
      })
    })
  }

  test('of two processes with one instance the older stops with a clear error', async t => {
    const kafka = await openCluster(t)
    const name = await kafka.createTopic({ partitions: 2 })
    const shared = { group: randomName('group'), instance: 'same', checkpoints: new MemoryCheckpoints() }
    await kafka.produce(name, spread(0, 2, 2))
    const first = await openReader(kafka, name, shared)
    const held = await first.take(2)
    const second = await openReader(kafka, name, shared)
    await assert.rejects(first.subscription.receive(1), { code: 'configuration', message: /instance same/ })
    assert.ok(held.every(delivery => !first.subscription.isLive(delivery)))
    assert.equal((await second.take(2)).length, 2)
  })

  test('a killed process is replaced after its session, from what it committed', async t => {
    const kafka = await openCluster(t)
    const name = await kafka.createTopic({ partitions: 2 })
    const options = { group: randomName('group'), sessionTimeoutMs: 6_000, start: 'earliest' } as const
    const member = startMember(t, { bootstrap: kafka.bootstrap, topic: name, options, settles: true })
    await member.untilOwns(2)
    await kafka.produce(name, spread(0, 20, 2))
    await member.untilGot(20)
    await until('all is committed', async () => {
      const committed = await kafka.committed(options.group, name)
      return committed.get(0) === 10 && committed.get(1) === 10
    })
    await kafka.produce(name, spread(20, 2, 2))
    member.signal('SIGKILL')
    const began = performance.now()
    const survivor = await openReader(kafka, name, options)
    await survivor.take(1)
    assert.ok(
      performance.now() - began < 40_000,
      'after its session, not after the time a rebalance may take',
    )
  })

  test('a frozen process that wakes up settles nothing, commits nothing and keeps no session alive', async t => {
    const kafka = await openCluster(t)
    const name = await kafka.createTopic({ partitions: 1 })
    const options = { group: randomName('group'), sessionTimeoutMs: 6_000, start: 'earliest' } as const
    await kafka.produce(name, spread(0, 10, 1))
    const frozen = startMember(t, { bootstrap: kafka.bootstrap, topic: name, options, settles: false })
    await frozen.untilGot(10)
    frozen.signal('SIGSTOP')
    const other = await openReader(kafka, name, options)
    const taken = await other.take(10)
    await other.subscription.settle(taken.slice(0, 3))
    await until('the new owner has committed', async () => {
      return (await kafka.committed(options.group, name)).get(0) === 3
    })
    frozen.ask('look')
    frozen.signal('SIGCONT')
    await until('it has looked', () => frozen.lines.some(({ kind }) => kind === 'looked'))
    const looked = frozen.lines.find(({ kind }) => kind === 'looked')
    assert.deepEqual(looked, { kind: 'looked', live: 0, missed: 10, held: 10 })
    await until(
      'it has joined again',
      () => frozen.lines.filter(({ kind }) => kind === 'revoked').length === 1,
    )
    assert.equal((await kafka.committed(options.group, name)).get(0), 3)
    assert.deepEqual(await other.subscription.settle(taken.slice(3)), { missed: 0 })
    await until('the owner goes on', async () => (await kafka.committed(options.group, name)).get(0) === 10)
  })

  test('partitions that are added are read from their first record, with a warning', async t => {
    const kafka = await openCluster(t)
    const name = await kafka.createTopic({ partitions: 2 })
    const shared = {
      group: randomName('group'),
      start: 'latest' as const,
      checkpoints: new MemoryCheckpoints(),
    }
    const first = await openReader(kafka, name, shared)
    await first.untilOwns(2)
    await first.close()
    await kafka.addPartitions(name, 3)
    await kafka.produce(name, [{ value: 'before anybody knew', partition: 2 }])
    const again = await openReader(kafka, name, shared)
    assert.equal((await again.take(1))[0]!.body.toString(), 'before anybody knew')
  })
})
