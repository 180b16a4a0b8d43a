import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { retryAfter } from 'onceward'
import { until } from 'onceward/testing'
import { PartitionProgress } from '../../src/drivers/log/partition-progress.ts'
import { logRig } from './log-rig.ts'

const twoPartitions = { 'p/0': { 10: 'a10', 11: 'a11', 12: 'a12' }, 'p/1': { 50: 'b50', 51: 'b51' } }
const everything = ['a10', 'a11', 'a12', 'b50', 'b51']

describe('a batch of which one record fails', () => {
  for (const form of ['handle', 'handleBatch'] as const) {
    test(`${form}: its partition stays before it, the other one moves on`, async () => {
      const rig = logRig(twoPartitions)
      const failing = (id: string) => id === 'a11'
      const one = await rig.start({
        failure: { exhausted: 'stop', attemptsMax: 2 },
        ...(form === 'handle'
          ? {
              handle: ({ message, tx }) => {
                if (failing(message.id)) throw Object.assign(new Error('away'), { code: 'ECONNRESET' })
                rig.apply(tx, message.id)
              },
            }
          : {
              handleBatch: async ({ batch, tx }) => {
                const verdicts = new Map()
                for (const item of batch) {
                  if (failing(item.message.id)) verdicts.set(item, retryAfter(1_000))
                  else rig.apply(tx, item.message.id)
                }
                return verdicts
              },
            }),
      })
      await until('both are told', () => rig.log.told.size === 2)
      assert.deepEqual(Object.fromEntries(rig.log.told), { 'p/0': '11', 'p/1': '52' })
      for (let tries = 0; tries < 5; tries++) await rig.env.advance(60_000)
      assert.deepEqual(rig.applied().sort(), ['a10', 'b50', 'b51'])
      assert.equal(rig.log.told.get('p/0'), '11')
      assert.equal(rig.store.committed.held.size, 0, 'nothing is set aside')
      await one.drain()
    })
  }

  test('set aside after its attempts, the rest of its partition follows', async () => {
    const rig = logRig(twoPartitions)
    const one = await rig.start({
      failure: { attemptsMax: 2, delayMs: 100 },
      handle: ({ message, tx }) => {
        if (message.id === 'a11') throw Object.assign(new Error('later'), { code: 'ECONNRESET' })
        rig.apply(tx, message.id)
      },
    })
    await until('the first round is told', () => rig.log.told.size === 2)
    assert.equal(rig.log.told.get('p/0'), '11')
    await until('the partition is done', async () => {
      await rig.env.advance(1_000)
      return rig.log.told.get('p/0') === '13'
    })
    assert.deepEqual(rig.applied().sort(), ['a10', 'a12', 'b50', 'b51'])
    assert.deepEqual(
      [...rig.store.committed.held.values()].map(({ id, state, orderKey }) => ({ id, state, orderKey })),
      [{ id: 'a11', state: 'parked', orderKey: null }],
    )
    await one.drain()
  })
})

describe('dedup by position only', () => {
  const contract = { dedup: 'checkpoint' } as const

  test('the position moves with the effect, leaves no marker, and is where the next process begins', async () => {
    const rig = logRig(twoPartitions)
    const one = await rig.start(contract)
    await until('all is applied', () => rig.applied().length === 5)
    await one.drain()
    assert.equal(rig.store.committed.markers.size, 0)
    const next = (partition: string) =>
      rig.store.committed.checkpoints.get(`reader/1\0${partition}`)?.stored?.next
    assert.deepEqual([next('p/0'), next('p/1')], ['13', '52'])
    const again = await rig.start(contract)
    await rig.env.turn()
    await again.drain()
    assert.deepEqual(rig.applied().sort(), everything)
  })

  test('a commit whose answer was lost is not repeated', async () => {
    const rig = logRig(twoPartitions)
    rig.store.loseNextAnswer = true
    const one = await rig.start(contract)
    await until('all is told', async () => {
      await rig.env.advance(1_000)
      return rig.log.told.get('p/0') === '13' && rig.log.told.get('p/1') === '52'
    })
    assert.equal(rig.store.loseNextAnswer, false, 'an answer was lost')
    assert.deepEqual(rig.applied().sort(), everything)
    await one.drain()
  })

  test('nor is one whose last record is followed by a gap', async () => {
    const rig = logRig(twoPartitions)
    const { promise: frozen, resolve: wake } = Promise.withResolvers<void>()
    const one = await rig.start({
      ...contract,
      handle: async ({ message, tx }) => {
        await frozen
        rig.apply(tx, message.id)
      },
    })
    await rig.env.turn()
    for (const progress of rig.log.subscription!.partitions) rig.log.subscription!.offer(progress, [], '99')
    rig.store.loseNextAnswer = true
    wake()
    await until('all is told', async () => {
      await rig.env.advance(1_000)
      return rig.log.told.get('p/0') === '99' && rig.log.told.get('p/1') === '99'
    })
    assert.equal(rig.store.loseNextAnswer, false, 'an answer was lost')
    assert.deepEqual(rig.applied().sort(), everything)
    await one.drain()
  })

  test('nor is one that moved past a message that was set aside before', async () => {
    const rig = logRig({ 'p/0': { 10: 'a10', 11: 'unnamed' } })
    let calls = 0
    const one = await rig.start({
      ...contract,
      identity: { id: record => (record.id === 'unnamed' ? undefined : record.id) },
      handle: ({ message, tx }) => {
        if (++calls === 1) return retryAfter(10)
        rig.store.loseNextAnswer = calls === 2
        rig.apply(tx, message.id)
      },
    })
    await until('all is told', async () => {
      await rig.env.advance(1_000)
      return rig.log.told.get('p/0') === '12'
    })
    assert.equal(calls, 2)
    assert.deepEqual(rig.applied(), ['a10'])
    await one.drain()
  })

  test('nor is one that committed as a whole and is then split', async () => {
    const rig = logRig({ 'p/0': { 10: 'a10', 11: 'a11', 12: 'a12' } })
    const { promise: frozen, resolve: wake } = Promise.withResolvers<void>()
    const one = await rig.start({
      ...contract,
      handle: async ({ message, tx }) => {
        await frozen
        rig.apply(tx, message.id)
      },
    })
    await rig.env.turn()
    // More often than a batch is given the benefit of the doubt.
    rig.store.refuseCommits = 5
    rig.store.loseNextAnswer = true
    wake()
    await until('all is told', async () => {
      await rig.env.advance(1_000)
      return rig.log.told.get('p/0') === '13'
    })
    assert.deepEqual(rig.applied(), ['a10', 'a11', 'a12'])
    assert.equal(rig.store.committed.checkpoints.get('reader/1\0p/0')?.stored?.next, '13')
    await one.drain()
  })

  test('a split batch moves the position part by part', async () => {
    const rig = logRig({ 'p/0': { 0: 'a', 1: 'b', 2: 'c', 3: 'd' } })
    const one = await rig.start({
      ...contract,
      handleBatch: async ({ batch, tx }) => {
        if (batch.length > 2) throw new Error('too many at once')
        for (const item of batch) rig.apply(tx, item.message.id)
      },
    })
    await until('all is told', () => rig.log.told.get('p/0') === '4')
    await one.drain()
    assert.equal(rig.store.committed.checkpoints.get('reader/1\0p/0')?.stored?.next, '4')
    assert.deepEqual(rig.applied(), ['a', 'b', 'c', 'd'])
  })
})

describe('a partition that went to another process', () => {
  for (const changes of [{}, { settle: { when: 'with effect' } }, { dedup: 'checkpoint' }] as const) {
    test(`commits nothing more: ${JSON.stringify(changes)}`, async () => {
      const rig = logRig(twoPartitions)
      const { promise: frozen, resolve: wake } = Promise.withResolvers<void>()
      const one = await rig.start({
        ...changes,
        handle: async ({ message, tx }) => {
          if (message.id === 'a10') await frozen
          rig.apply(tx, message.id)
        },
      })
      await rig.env.turn()
      const checkpoint = rig.store.committed.checkpoints.get('reader/1\0p/0')!
      Object.assign(checkpoint, { epoch: checkpoint.epoch + 1 })
      wake()
      await until('the other partition is told', () => rig.log.told.get('p/1') === '52')
      assert.deepEqual(rig.applied().sort(), ['b50', 'b51'])
      assert.equal(rig.log.told.has('p/0'), false)
      assert.equal(one.state, 'running')
      await one.drain()
    })
  }
})

describe('a partition that the group revoked, and no process has taken yet', () => {
  for (const changes of [{}, { settle: { when: 'with effect' } }, { dedup: 'checkpoint' }] as const) {
    test(`commits nothing more: ${JSON.stringify(changes)}`, async () => {
      const rig = logRig(twoPartitions)
      const { promise: frozen, resolve: wake } = Promise.withResolvers<void>()
      const one = await rig.start({
        ...changes,
        handle: async ({ message, tx }) => {
          if (message.id === 'a10') await frozen
          rig.apply(tx, message.id)
        },
      })
      await rig.env.turn()
      rig.log.subscription!.drop('p/0')
      wake()
      await until('the other partition is told', () => rig.log.told.get('p/1') === '52')
      assert.deepEqual(rig.applied().sort(), ['b50', 'b51'])
      await one.drain()
    })
  }

  test('stays owned when it was assigned again before the old batch noticed', async () => {
    const rig = logRig(twoPartitions)
    const { promise: frozen, resolve: wake } = Promise.withResolvers<void>()
    const one = await rig.start({
      handle: async ({ message, tx }) => {
        if (message.id === 'a10') await frozen
        rig.apply(tx, message.id)
      },
    })
    await rig.env.turn()
    const checkpoint = rig.store.committed.checkpoints.get('reader/1\0p/0')!
    Object.assign(checkpoint, { epoch: 2 })
    rig.log.subscription!.drop('p/0')
    const again = new PartitionProgress('p/0', 2, { incarnation: 'life 1', next: '10' })
    rig.log.subscription!.own(again)
    wake()
    await until('the other partition is told', () => rig.log.told.get('p/1') === '52')
    assert.equal(rig.log.subscription!.progressOf('p/0'), again)
    await one.drain()
  })
})

describe('settled before the effect', () => {
  test('the source is settled first, and a failed message is set aside at once', async () => {
    const rig = logRig({ 'p/0': { 0: 'a', 1: 'b' } })
    const one = await rig.start({
      settle: { when: 'before effect', lossAcceptable: 'samples; the next one replaces it' },
      handle: ({ message, tx }) => {
        if (message.id === 'b') throw Object.assign(new Error('no'), { code: 'ECONNRESET' })
        rig.apply(tx, message.id)
      },
    })
    await until('one is held', () => rig.store.committed.held.size === 1)
    const told = rig.store.history.indexOf('told p/0@2')
    assert.ok(told >= 0 && told < rig.store.history.lastIndexOf('committed'), rig.store.history.join())
    assert.deepEqual(rig.applied(), ['a'])
    await one.drain()
  })
})

test('the position of a record is its identity where the log has no other', async () => {
  const rig = logRig({ 'p/0': { 0: 'same', 1: 'same' } })
  const one = await rig.start({ identity: { id: 'position' } })
  await until('both are applied', () => rig.applied().length === 2)
  await one.drain()
  assert.deepEqual(
    [...rig.store.committed.markers.keys()],
    ['reader/1\0life 1/p/0@0', 'reader/1\0life 1/p/0@1'],
  )
})
