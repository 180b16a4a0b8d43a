import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { defineConsumer, type Mode, runConsumer } from 'onceward'
import { skipWithout } from '../services/services.ts'
import { type JobContext, jobContract, Scene } from './scene.ts'

describe('stored work and the mode of its worker', await skipWithout('postgres'), () => {
  let scene: Scene
  before(async () => {
    scene = await Scene.open()
  })
  after(() => scene.close())

  for (const mode of ['replay', 'rebuild'] as const satisfies Mode[]) {
    it(`what was stored live is not taken in mode ${mode}, where its effects would be dropped`, async () => {
      const name = `kept_from_${mode}`
      const changes = {
        effect: { external: { pay: { url: 'http://127.0.0.1:1/', allowPrivate: true } } },
        handle: async ({ effects, message }: JobContext) =>
          effects.external('pay', { key: message.id, body: {} }),
      }
      await scene.store(name, changes, { id: 'a' })
      const consumer = defineConsumer(jobContract(name, changes))
      const started = runConsumer(consumer, { databaseUrl: scene.url, mode, parts: ['worker'] })
      started.then(running => running.drain()).catch(() => {})
      await assert.rejects(started, /has 1 messages stored in mode live/)
      assert.equal((await scene.held(name)).length, 1)
      const next = defineConsumer({ ...jobContract(name, changes), generation: 2 })
      await (await runConsumer(next, { databaseUrl: scene.url, mode, parts: ['worker'] })).drain()
    })
  }
})
