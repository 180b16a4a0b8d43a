import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type BatchContext, park, type SqlTransaction } from 'onceward'
import { until } from 'onceward/testing'
import { releaseHeld } from '../../src/operations/work/release-held.ts'
import { skipWithout } from '../services/services.ts'
import { type HeldRow, type Job, type JobContext, Scene, write } from './scene.ts'

const workOnly = { parts: ['worker'] as const }

/** As a rival does whose claim came after the lease had run out. */
const takeOver = `update onceward.held set epoch = epoch + 1, lease_until = clock_timestamp() + interval '45 seconds'
  where consumer_id = (select id from onceward.consumer where name = $1)`
const leaseEnd = `select lease_until::text as until from onceward.held
  where consumer_id = (select id from onceward.consumer where name = $1)`

describe('the lease on stored work', await skipWithout('postgres'), () => {
  let scene: Scene
  before(async () => {
    scene = await Scene.open()
  })
  after(() => scene.close())

  it('is extended while the handler works, so no other worker takes the message', async () => {
    const begun = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    let calls = 0
    const changes = {
      inbox: { leaseMs: 5_000 },
      handle: async (context: JobContext) => {
        calls++
        begun.resolve()
        await go.promise
        await write(context, 'long')
      },
    }
    await scene.store('long', changes, { id: 'a' })
    const worker = await scene.start('long', changes, workOnly)
    const rival = await scene.start('long', changes, workOnly)
    await begun.promise
    const [first] = (await scene.pool.query(leaseEnd, ['long'])).rows
    await until('the lease it began with is over', async () => {
      const { rows } = await scene.pool.query('select clock_timestamp() > $1 as over', [first.until])
      return rows[0].over
    })
    go.resolve()
    await until('it is done', async () => (await scene.held('long')).length === 0)
    await Promise.all([worker.drain(), rival.drain()])
    assert.deepEqual([calls, await scene.done('long')], [1, ['a']])
    assert.equal(scene.counted('leasesExpired'), 0)
  })

  it('lost while a handler works: its signal is aborted, nothing commits, and the lease counts as lost', async () => {
    const begun = Promise.withResolvers<void>()
    const told = Promise.withResolvers<unknown>()
    let calls = 0
    const changes = {
      inbox: { leaseMs: 5_000 },
      handle: async (context: JobContext) => {
        await write(context, 'lost')
        if (calls++ > 0) return
        begun.resolve()
        await new Promise<void>(resolve => context.signal.addEventListener('abort', () => resolve()))
        told.resolve(context.signal.reason)
      },
    }
    await scene.store('lost', changes, { id: 'a' })
    const worker = await scene.start('lost', changes, workOnly)
    await begun.promise
    await scene.pool.query(takeOver, ['lost'])
    assert.equal(((await told.promise) as { code: string }).code, 'lease_lost')
    await until('the loss is counted', () => scene.counted('leasesLost') === 1)
    assert.deepEqual(await scene.done('lost'), [])
    await scene.pool.query(`update onceward.held set lease_until = clock_timestamp() - interval '1 minute'`)
    await until('it was taken up again and done', async () => (await scene.held('lost')).length === 0)
    await worker.drain()
    assert.deepEqual(await scene.done('lost'), ['a'])
    assert.equal(scene.counted('leasesExpired'), 1)
    const { rows } = await scene.pool.query('select count(*)::int from onceward.attempt')
    assert.equal(rows[0].count, 0, 'a lost claim is no failed attempt')
  })

  it('lost and not noticed: the fence stops the commit of its message, and of no other', async () => {
    const begun = Promise.withResolvers<string>()
    const go = Promise.withResolvers<void>()
    let stopped = false
    const changes = {
      handleBatch: async ({ batch, tx }: BatchContext<Job, SqlTransaction>) => {
        for (const { message } of batch) await write({ message, tx } as JobContext, 'fenced')
        if (batch.length < 2 || stopped) return
        stopped = true
        begun.resolve(batch.at(-1)!.message.id)
        await go.promise
      },
    }
    const ids = Array.from({ length: 9 }, (_, n) => `m-${n}`)
    await scene.store('fenced', changes, ...ids.map(id => ({ id })))
    const worker = await scene.start('fenced', changes, workOnly)
    const stolen = await begun.promise
    await scene.pool.query(
      `update onceward.held set epoch = epoch + 1, lease_until = clock_timestamp() + interval '45 seconds' where message_id = $1`,
      [stolen],
    )
    go.resolve()
    await until('all the others are done', async () => (await scene.held('fenced')).length === 1)
    assert.equal((await scene.held('fenced'))[0]!.message_id, stolen)
    assert.deepEqual(
      (await scene.done('fenced')).sort(),
      ids.filter(id => id !== stolen),
    )
    await worker.drain()
  })

  it('extended while the work is being finished is not lost', async () => {
    const beat = await scene.pool.connect()
    const changes = {
      inbox: { leaseMs: 3_600_000 },
      handle: async (context: JobContext) => {
        await beat.query('begin')
        await beat.query(
          `update onceward.held set lease_until = clock_timestamp() + interval '45 seconds' where message_id = 'beaten'`,
        )
        await write(context, 'beaten')
      },
    }
    await scene.store('beaten', changes, { id: 'beaten' })
    const lost = scene.counted('leasesLost')
    const worker = await scene.start('beaten', changes, workOnly)
    const waiting = `select 1 from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
    await until('finishing waits for it', async () => (await scene.pool.query(waiting)).rows.length === 1)
    await beat.query('commit')
    beat.release()
    await until('it is done', async () => (await scene.held('beaten')).length === 0)
    await worker.drain()
    assert.deepEqual([await scene.done('beaten'), scene.counted('leasesLost') - lost], [['beaten'], 0])
  })

  it("follows the database's clock: a worker whose clock is days off neither loses nor takes a lease", async () => {
    const begun = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    let calls = 0
    const changes = {
      handle: async (context: JobContext) => {
        if (context.message.id === 'a') {
          calls++
          begun.resolve()
          await go.promise
        }
        await write(context, 'clocks')
      },
    }
    await scene.store('clocks', changes, { id: 'a' })
    const first = await scene.start('clocks', changes, workOnly)
    await begun.promise
    const days = 5 * 86_400_000
    const ahead = { clock: { nowMs: () => performance.now() + days } }
    const behind = { clock: { nowMs: () => performance.now() - days } }
    const rivals = await Promise.all(
      [ahead, behind].map(env => scene.start('clocks', changes, { ...workOnly, env })),
    )
    await scene.store('clocks', changes, { id: 'b' })
    await until('a rival has done the other', async () => (await scene.done('clocks')).includes('b'))
    go.resolve()
    await until('the first has done its own', async () => (await scene.held('clocks')).length === 0)
    await Promise.all([first, ...rivals].map(worker => worker.drain()))
    assert.deepEqual([calls, await scene.done('clocks')], [1, ['b', 'a']])
  })

  it('a lease from before the message was parked and released never becomes valid again', async () => {
    const again = Promise.withResolvers<void>()
    let calls = 0
    const changes = {
      handle: async ({ signal }: JobContext) => {
        if (calls++ === 0) return park('for people')
        again.resolve()
        await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
      },
    }
    await scene.store('reborn', changes, { id: 'a' })
    const worker = await scene.start('reborn', changes, workOnly)
    await until('it is parked', async () => (await scene.held('reborn'))[0]?.state === 'parked')
    const [{ id, epoch }] = (await scene.held('reborn')) as [HeldRow]
    await releaseHeld(scene.pool, { id, consumer: 'reborn', because: 'mended' })
    await again.promise
    assert.deepEqual([epoch, (await scene.held('reborn'))[0]!.epoch], [1, 2])
    await scene.leave(worker)
  })
})
