import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import { releaseHeld } from '../../src/operations/work/release-held.ts'
import { skipWithout } from '../services/services.ts'
import { type JobContext, Scene, write } from '../work/scene.ts'
import { direct, replayAll } from './parked-scene.ts'

/** As the producer sends it: the id under another name than the contract of yesterday reads. */
interface Renamed {
  readonly id: string
  readonly ref: string
}

const parks = {
  ...direct,
  batch: { sizeMax: 1, inFlightMax: 1 },
  failure: { attemptsMax: 1, delayMs: 1, policies: { poison: { terminal: 'parked' as const } } },
}
const yesterday = { ...parks, identity: { id: () => undefined as unknown as string } }
const today = { ...parks, identity: { id: (m: unknown) => (m as Renamed).ref } }

type LetGo = (scene: Scene, name: string) => Promise<void>
const doors: readonly (readonly [string, LetGo])[] = [
  [
    'work release',
    async (scene, name) => {
      for (const { id } of await scene.held(name))
        await releaseHeld(scene.pool, { id, consumer: name, because: 'the contract reads it now' })
    },
  ],
  ['parked redrive', (scene, name) => replayAll(scene, name, `${name}-r`)],
]

describe('a parked message without an id that is released', await skipWithout('postgres'), () => {
  let scene: Scene
  before(async () => {
    scene = await Scene.open()
  })
  after(() => scene.close())

  const parked = async (name: string, ...messages: readonly Renamed[]) => {
    await scene.store(name, yesterday as never, ...messages)
    await until('they are parked', async () => (await scene.held(name)).length === messages.length)
    assert.deepEqual(
      (await scene.held(name)).map(row => [row.message_id, row.state, row.code]),
      messages.map(() => [null, 'parked', 'id_missing']),
    )
  }

  const handler = (name: string, seen: (string | null)[]) => ({
    handle: async (context: JobContext) => {
      seen.push(context.envelope.id)
      await write(context, name)
    },
  })

  for (const [door, letGo] of doors) {
    const called = door.replaceAll(' ', '_')

    it(`by ${door} is read anew, applied once, and its duplicate is recognised`, async () => {
      const name = `anew_${called}`
      await parked(name, { id: 'x', ref: 'm1' })
      await letGo(scene, name)
      const seen: (string | null)[] = []
      const running = await scene.start(name, { ...today, ...handler(name, seen) } as never)
      await until('it is applied', async () => (await scene.done(name)).length === 1)
      await scene.publish(name, { id: 'x', ref: 'm1' } as never)
      await until('the duplicate is settled', async () => (await scene.depth(name)) === 0)
      await running.drain()
      assert.deepEqual(seen, ['m1'])
      assert.deepEqual(await scene.markers(name), ['m1 applied'])
      assert.deepEqual(await scene.held(name), [])
    })

    it(`by ${door} is a duplicate of what was applied meanwhile`, async () => {
      const name = `dup_${called}`
      await parked(name, { id: 'x', ref: 'm1' })
      await scene.store(name, today as never, { id: 'x', ref: 'm1' } as never)
      assert.equal((await scene.done(name)).length, 1)
      await letGo(scene, name)
      const running = await scene.start(name, today as never)
      await until('the row is gone', async () => (await scene.held(name)).length === 0)
      await running.drain()
      assert.equal((await scene.done(name)).length, 1)
      assert.deepEqual(await scene.markers(name), ['m1 applied'])
    })

    it(`by ${door} is not applied while its id cannot be read`, async () => {
      const name = `still_${called}`
      await parked(name, { id: 'x', ref: 'm1' })
      await scene.pool.query(`update onceward.held set attempts = 3`)
      const [before] = await scene.held(name)
      await letGo(scene, name)
      const running = await scene.start(name, yesterday as never)
      await until('it waits for people again', async () => (await scene.held(name))[0]?.state === 'parked')
      await running.drain()
      assert.deepEqual(await scene.done(name), [])
      const [row] = await scene.held(name)
      assert.deepEqual(
        [row!.id, row!.message_id, row!.code, row!.attempts],
        [before!.id, null, 'id_missing', 3],
      )
    })
  }

  it('keeps no marker of an attempt that is to be repeated', async () => {
    const name = 'again'
    await parked(name, { id: 'x', ref: 'm1' })
    await replayAll(scene, name, 'again-r')
    let tries = 0
    const running = await scene.start(name, {
      ...today,
      failure: { attemptsMax: 5, delayMs: 1 },
      handle: async (context: JobContext) => {
        if (tries++ === 0) throw new Error('not yet')
        await write(context, name)
      },
    } as never)
    await until('it is applied', async () => (await scene.held(name)).length === 0)
    await running.drain()
    assert.deepEqual([tries, (await scene.done(name)).length], [2, 1])
    assert.deepEqual(await scene.markers(name), ['m1 applied'])
  })

  it('of two with one id applies one, and quarantines the other as a conflict', async () => {
    const name = 'twice'
    await parked(name, { id: 'x', ref: 'm1' }, { id: 'y', ref: 'm1' })
    await replayAll(scene, name, 'twice-r')
    const running = await scene.start(name, { ...today, batch: { sizeMax: 10 } } as never)
    await until('one waits for people', async () =>
      (await scene.held(name)).every(row => row.state === 'quarantined'),
    )
    await running.drain()
    // Without an order either may come first.
    assert.equal((await scene.done(name)).length, 1)
    assert.deepEqual(
      (await scene.held(name)).map(row => [row.message_id, row.code]),
      [['m1', 'conflict']],
    )
  })
})
