import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { park } from 'onceward'
import { createPostgresStore } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { releaseHeld } from '../../src/operations/work/release-held.ts'
import { skipWithout } from '../services/services.ts'
import { type JobContext, Scene, write } from './scene.ts'

const workOnly = { parts: ['worker'] as const }
const ordered = { order: 'key' as const, failure: { attemptsMax: 50, delayMs: 5, delayMaxMs: 10 } }

describe('the order of a key in stored work', await skipWithout('postgres'), () => {
  let scene: Scene
  before(async () => {
    scene = await Scene.open()
  })
  after(() => scene.close())

  const jobs = (key: string, count: number) =>
    Array.from({ length: count }, (_, n) => ({ id: `${key}-${String(n).padStart(3, '0')}`, key }))

  it('is kept over several workers, whose handlers fail now and then, and other keys flow', async () => {
    const failed = new Set<string>()
    const changes = {
      ...ordered,
      batch: { sizeMax: 5 },
      inbox: { workers: 3 },
      handle: async (context: JobContext) => {
        const { id } = context.message
        await write(context, 'shared')
        if (id.endsWith('7') && !failed.has(id)) {
          failed.add(id)
          throw new Error('not yet')
        }
      },
    }
    const keys = ['a', 'b', 'c', 'd']
    const mixed = Array.from({ length: 40 }, (_, n) => keys.map(key => jobs(key, 40)[n]!)).flat()
    await scene.store('shared', changes, ...mixed)
    const workers = [
      await scene.start('shared', changes, workOnly),
      await scene.start('shared', changes, workOnly),
    ]
    await until('all are done', async () => (await scene.held('shared')).length === 0)
    await Promise.all(workers.map(worker => worker.drain()))
    const done = await scene.done('shared')
    for (const key of keys) {
      const ids = jobs(key, 40).map(job => job.id)
      assert.deepEqual(
        done.filter(id => id.startsWith(key)),
        ids,
        `key ${key}`,
      )
    }
    assert.equal(failed.size, 16)
  })

  it('a delayed message blocks only its own key', async () => {
    let open = false
    const changes = {
      ...ordered,
      handle: async (context: JobContext) => {
        if (context.message.id === 's-000' && !open) throw new Error('not yet')
        await write(context, 'stuck')
      },
    }
    await scene.store('stuck', changes, ...jobs('s', 3), ...jobs('t', 3))
    const worker = await scene.start('stuck', changes, workOnly)
    await until('the other key is done', async () => (await scene.done('stuck')).length === 3)
    assert.deepEqual(await scene.done('stuck'), ['t-000', 't-001', 't-002'])
    open = true
    await until('all are done', async () => (await scene.held('stuck')).length === 0)
    await worker.drain()
    assert.deepEqual((await scene.done('stuck')).slice(3), ['s-000', 's-001', 's-002'])
  })

  it('a parked message blocks its key until it is released, and is then applied first', async () => {
    let open = false
    const changes = {
      ...ordered,
      handle: (context: JobContext) =>
        context.message.id === 'p-001' && !open ? park('for people') : write(context, 'parked'),
    }
    await scene.store('parked', changes, ...jobs('p', 4))
    const worker = await scene.start('parked', changes)
    await until('the second is parked', async () => (await scene.held('parked'))[0]?.state === 'parked')
    await scene.publish('parked', { id: 'p-004', key: 'p' }, { id: 'q-000', key: 'q' })
    await until('another key is done', async () => (await scene.done('parked')).includes('q-000'))
    assert.deepEqual(
      (await scene.held('parked')).map(row => row.message_id),
      ['p-001', 'p-002', 'p-003', 'p-004'],
    )
    open = true
    const [head] = await scene.held('parked')
    await releaseHeld(scene.pool, { id: head!.id, consumer: 'parked', because: 'mended' })
    await until('all are done', async () => (await scene.held('parked')).length === 0)
    await worker.drain()
    assert.deepEqual(
      (await scene.done('parked')).filter(id => id.startsWith('p')),
      jobs('p', 5).map(job => job.id),
    )
  })

  it('is checked again in the transaction: a message leased with an earlier one does not run without it', async () => {
    await scene.store('asked', ordered, ...jobs('k', 2))
    const store = createPostgresStore({ pool: scene.pool })
    const { rows } = await scene.pool.query(
      `select id as "consumerId", (select max(id) from onceward.run) as "runId" from onceward.consumer where name = 'asked'`,
    )
    const enrolment = { ...rows[0], facts: { mode: 'live', handlerTimeoutMs: 1_000 } }
    const request = { countMax: 10, leaseMs: 60_000, ordered: true, after: null }
    const claimed = await store.work!.lease(enrolment, request)
    const [first, second] = claimed.rows
    const before = (row: typeof first) =>
      store.transaction(enrolment, session =>
        session.held!.confirmLeases([{ ...row!, headOf: 'k', asks: false }]),
      )
    assert.deepEqual([...(await before(first))], [])
    assert.deepEqual([...(await before(second))], [['k', 'stored']])
    await store.work!.giveBack(claimed.rows)
    await assert.rejects(before({ ...first!, epoch: first!.epoch + 1 }), { code: 'lease_lost' })
  })

  it('any number of messages behind a blocked key does not hide other messages', async () => {
    const changes = {
      ...ordered,
      handle: async (context: JobContext) => {
        if (context.message.id === 's-0') throw new Error('not yet')
        await write(context, 'deep')
      },
    }
    await scene.store('deep', changes, { id: 's-0', key: 's' })
    await scene.pool.query(
      `insert into onceward.held (consumer_id, run_id, state, message_id, digest, order_key, origin, delivery_count, headers, properties,
         body, due_at)
       select consumer_id, run_id, 'stored', 's-' || n, digest, 's', origin, 0, '{}', '{}', convert_to('{"id":"s-' || n || '","key":"s"}', 'UTF8'),
         clock_timestamp()
       from onceward.held, generate_series(1, 9000) n where message_id = 's-0'`,
    )
    await scene.store('deep', changes, { id: 't-0', key: 't' })
    const worker = await scene.start('deep', changes, workOnly)
    await until('the one at the end is done', async () => (await scene.done('deep')).length === 1)
    await scene.leave(worker)
    assert.deepEqual(await scene.done('deep'), ['t-0'])
  })
})
