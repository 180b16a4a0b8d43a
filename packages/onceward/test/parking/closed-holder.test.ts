import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { park } from 'onceward'
import { until } from 'onceward/testing'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import { skipParked } from '../../src/operations/parking/skip-parked.ts'
import { skipWithout } from '../services/services.ts'
import { type Job, type JobContext, Scene, write } from '../work/scene.ts'
import { direct } from './parked-scene.ts'

const identity = {
  id: (m: Job) => m.id,
  orderKey: (m: Job) => m.key,
  businessKey: (m: Job) => m.part,
}

describe('a business key whose holder is skipped', await skipWithout('postgres'), () => {
  let scene: Scene
  before(async () => {
    scene = await Scene.open()
  })
  after(() => scene.close())

  const skip = async (consumer: string, messageId: string) => {
    const { rows } = await previewParked(scene.pool, { consumer, countMax: 10 })
    const ids = rows.filter(row => row.messageId === messageId).map(row => row.id)
    const { digest } = await previewParked(scene.pool, { consumer, ids, countMax: 10 })
    await skipParked(scene.pool, { consumer, ids, digest, because: 'not wanted' })
  }
  const heldBy = (name: string, ...ids: readonly string[]) =>
    until(`${name} holds ${ids}`, async () => {
      const held = await scene.held(name)
      return held.map(row => row.message_id).join() === ids.join()
    })

  it('goes to the message that is being stored behind it at that moment', async () => {
    const name = 'in_flight'
    const [begun, open] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const running = await scene.start(name, {
      ...direct,
      identity,
      handle: async (context: JobContext) => {
        if (context.message.id === 'a') return park('a person decides')
        if (context.message.id === 'slow') {
          begun.resolve()
          await open.promise
        }
        return write(context, name)
      },
    })
    await scene.publish(name, { id: 'a', part: 'p' })
    await heldBy(name, 'a')
    await scene.publish(name, { id: 'b', part: 'p' }, { id: 'slow', part: 'other' })
    await begun.promise
    assert.deepEqual(await scene.markers(name), ['a parked'], 'b is stored with the slow one')
    const skipped = skip(name, 'a')
    const locks = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await until('the skip waits', async () => (await scene.pool.query(locks)).rows.length > 0)
    open.resolve()
    await skipped
    const ended = ['a ignored', 'b applied', 'slow applied']
    await until('b goes on', async () => (await scene.markers(name)).join() === ended.join(), {
      deadlineMs: 20_000,
    })
    await running.drain()
  })

  it('goes to the first that waits for it, for any order key that the holder frees', async () => {
    const name = 'first_waits'
    const parking = { ...direct, identity, order: 'key' as const, handle: () => park('a person decides') }
    const running = await scene.start(name, parking)
    await scene.publish(name, { id: 'a', key: 'k1', part: 'p' })
    await heldBy(name, 'a')
    await scene.publish(name, { id: 'b', key: 'k2', part: 'p' })
    await heldBy(name, 'a', 'b')
    await scene.publish(name, { id: 'c', key: 'k1', part: 'p' })
    await heldBy(name, 'a', 'b', 'c')
    await running.drain()
    await skip(name, 'a')
    const { rows } = await scene.pool.query(
      `select message_id from onceward.business_key
       where consumer_id = (select id from onceward.consumer where name = $1)`,
      [name],
    )
    assert.deepEqual(rows, [{ message_id: 'b' }])
  })
})
