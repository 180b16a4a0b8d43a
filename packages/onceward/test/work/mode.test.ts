import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { defineConsumer, type Mode, runConsumer } from 'onceward'
import { until } from 'onceward/testing'
import { skipWithout } from '../services/services.ts'
import { jobContract, Scene } from './scene.ts'

describe('stored work and the mode of its worker', await skipWithout('postgres'), () => {
  let scene: Scene
  before(async () => {
    scene = await Scene.open()
  })
  after(() => scene.close())

  /** Runs only workers of a mode until `done`, then ends them. */
  const work = async (name: string, order: 'none' | 'key', mode: Mode, done: () => Promise<boolean>) => {
    const consumer = defineConsumer(jobContract(name, { order }))
    const running = await runConsumer(consumer, { databaseUrl: scene.url, mode, parts: ['worker'] })
    await until(`${mode} workers have done what is theirs`, done).finally(() => running.drain())
  }

  for (const order of ['none', 'key'] as const)
    for (const mode of ['replay', 'rebuild'] as const satisfies Mode[])
      it(`order ${order}: workers of a ${mode} do not lease live work, and live workers lease what is left`, async () => {
        const name = `apart_${order}_${mode}`
        await scene.store(name, { order }, { id: 'a', key: 'k' })
        await scene.store(name, { order }, { id: 'b', key: 'l' })
        await scene.pool.query(
          `update onceward.held set mode = $2 where id = (
             select held.id from onceward.held join onceward.consumer on consumer.id = consumer_id
             where name = $1 and message_id = 'b')`,
          [name, mode],
        )
        await work(name, order, mode, async () => (await scene.done(name)).includes('b'))
        assert.deepEqual(await scene.done(name), ['b'])
        assert.deepEqual(
          (await scene.held(name)).map(row => [row.message_id, row.epoch]),
          [['a', 0]],
        )
        await work(name, order, 'live', async () => (await scene.held(name)).length === 0)
        assert.deepEqual(await scene.done(name), ['b', 'a'])
      })
})
