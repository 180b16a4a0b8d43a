import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import { skipWithout } from '../services/services.ts'
import { type HeldRow, type Job, type JobContext, Scene, write } from './scene.ts'

const workOnly = { parts: ['worker'] as const }

describe('local handoff to the worker of the same process', await skipWithout('postgres'), () => {
  let scene: Scene
  before(async () => {
    scene = await Scene.open()
  })
  after(() => scene.close())

  it('is leased as it is stored, and read once', async () => {
    let reads = 0
    let found: HeldRow[] = []
    const changes = {
      message: {
        schema: {
          '~standard': {
            version: 1 as const,
            vendor: 'test',
            validate: (value: unknown) => {
              reads++
              return { value: value as Job }
            },
          },
        },
      },
      handle: async (context: JobContext) => {
        found = await scene.held('handed')
        await write(context, 'handed')
      },
    }
    const running = await scene.start('handed', changes)
    // A contract asks its schema about tombstones when it is defined.
    reads = 0
    await scene.publish('handed', { id: 'a' })
    await until('it is done', async () => (await scene.done('handed')).length === 1)
    await running.drain()
    assert.deepEqual([found.map(row => [row.epoch, row.leased]), reads], [[[1, true]], 1])
    assert.deepEqual(await scene.markers('handed'), ['a applied'])
  })

  it("is limited to the worker's room: other workers take the rest while it is busy", async () => {
    const go = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<void>()
    const busy = async (context: JobContext) => {
      begun.resolve()
      await go.promise
      await write(context, 'busy')
    }
    const jobs = Array.from({ length: 40 }, (_, n) => ({ id: `job-${n}` }))
    const first = await scene.start('busy', { inbox: { workers: 1 }, handle: busy })
    await scene.publish('busy', jobs[0]!)
    await begun.promise
    await scene.publish('busy', ...jobs.slice(1))
    await until('all is settled', async () => (await scene.depth('busy')) === 0)
    const second = await scene.start('busy', {}, workOnly)
    await until('the second has done all but what the first has', async () =>
      (await scene.held('busy')).every(row => row.leased),
    )
    await until('the second has nothing left', async () => (await scene.held('busy')).length <= 3)
    go.resolve()
    await until('all is done', async () => (await scene.held('busy')).length === 0)
    await Promise.all([first.drain(), second.drain()])
    assert.equal(new Set(await scene.done('busy')).size, 40)
    assert.equal((await scene.done('busy')).length, 40)
  })

  it('is released at once when the process leaves, begun or not', async () => {
    const begun = Promise.withResolvers<void>()
    const changes = {
      inbox: { workers: 1, leaseMs: 3_600_000 },
      handle: async ({ signal }: JobContext) => {
        begun.resolve()
        await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      },
    }
    const first = await scene.start('polite', changes)
    await scene.publish('polite', { id: 'a' })
    await begun.promise
    await scene.publish('polite', { id: 'b' })
    await until('the second is handed over', async () => {
      const held = await scene.held('polite')
      return held.length === 2 && held.every(row => row.leased)
    })
    await scene.leave(first)
    // A look that was under way may have taken one of them again, to give it back as well: epochs tell
    // nothing.
    const left = await scene.held('polite')
    assert.deepEqual(
      left.map(row => [row.message_id, row.leased]),
      [
        ['a', false],
        ['b', false],
      ],
    )
  })

  it('keeps the order of a key over processes that store and work at the same time', async () => {
    const failed = new Set<string>()
    const changes = {
      order: 'key' as const,
      failure: { attemptsMax: 50, delayMs: 5, delayMaxMs: 10 },
      inbox: { workers: 2 },
      handle: async (context: JobContext) => {
        const { id } = context.message
        await write(context, 'keyed')
        if (!id.endsWith('7') || failed.has(id)) return
        failed.add(id)
        throw new Error('not yet')
      },
    }
    const keys = ['a', 'b', 'c', 'd', 'e']
    const idsOf = (key: string) =>
      Array.from({ length: 60 }, (_, n) => `${key}-${String(n).padStart(3, '0')}`)
    const processes = [await scene.start('keyed', changes), await scene.start('keyed', changes)]
    for (let n = 0; n < 60; n++)
      await scene.publish('keyed', ...keys.map(key => ({ id: idsOf(key)[n]!, key })))
    await until('all are done', async () => (await scene.done('keyed')).length >= 300)
    await until('nothing is left', async () => (await scene.held('keyed')).length === 0)
    await Promise.all(processes.map(one => one.drain()))
    const done = await scene.done('keyed')
    for (const key of keys)
      assert.deepEqual(
        done.filter(id => id.startsWith(key)),
        idsOf(key),
      )
  })
})
