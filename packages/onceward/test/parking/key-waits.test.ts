import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ignore, park, type Running, reject } from 'onceward'
import { until } from 'onceward/testing'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import { skipParked } from '../../src/operations/parking/skip-parked.ts'
import { skipWithout } from '../services/services.ts'
import { type JobContext, Scene, write } from '../work/scene.ts'
import { direct, replayAll, settled } from './parked-scene.ts'

type Verdict = 'apply' | 'fail' | 'ignore' | 'reject' | 'park'

const retries = { attemptsMax: 50, delayMs: 20, delayMaxMs: 40 }
const modes = {
  stored: { failure: retries },
  deferring: { ...direct, failure: { ...retries, mode: 'defer' as const } },
}

describe('a resend under another id while its business key is held', await skipWithout('postgres'), () => {
  let scene: Scene
  before(async () => {
    scene = await Scene.open()
  })
  after(() => scene.close())

  /**
   * `part` is the business key, `version` the content under it. What a message does is decided while it runs.
   */
  const contract = (name: string, say: ReadonlyMap<string, Verdict>, changes: object = {}) => ({
    ...direct,
    identity: {
      id: (m: { id: string }) => m.id,
      orderKey: (m: { key?: string }) => m.key,
      businessKey: (m: { part?: string }) => m.part,
      businessDigest: (m: { version?: number }) => ({ version: m.version ?? 1 }),
    },
    ...changes,
    handle: async (context: JobContext) => {
      const verdict = say.get(context.message.id) ?? 'apply'
      if (verdict === 'fail') throw Object.assign(new Error('not yet'), { code: 'E_NOT_YET' })
      if (verdict === 'ignore') return ignore('nothing to do')
      if (verdict === 'reject') return reject('wrong')
      if (verdict === 'park') return park('a person decides')
      await write(context, name)
      return undefined
    },
  })
  const marked = (name: string, ...wanted: readonly string[]) =>
    until(
      `markers of ${name} are ${wanted.join(', ')}`,
      async () => (await scene.markers(name)).join() === wanted.join(),
      { deadlineMs: 30_000 },
    )
  const heldAs = (name: string, ...wanted: readonly string[]) =>
    until(
      `held of ${name} is ${wanted.join(', ')}`,
      async () =>
        (await scene.held(name)).map(row => `${row.message_id} ${row.state}`).join() === wanted.join(),
      { deadlineMs: 30_000 },
    )
  const skip = async (name: string, messageId: string) => {
    const all = await previewParked(scene.pool, { consumer: name, countMax: 10 })
    const ids = all.rows.filter(row => row.messageId === messageId).map(row => row.id)
    const { digest } = await previewParked(scene.pool, { consumer: name, ids, countMax: 10 })
    await skipParked(scene.pool, { consumer: name, ids, digest, because: 'not wanted' })
  }

  const ends = {
    ignore: { done: ['b'], markers: ['a ignored', 'b applied'] },
    reject: { done: ['b'], markers: ['a dead', 'b applied'] },
    apply: { done: ['a'], markers: ['a applied', 'b duplicate'] },
  } as const
  for (const [mode, changes] of Object.entries(modes)) {
    for (const [end, wanted] of Object.entries(ends)) {
      it(`${mode}: waits for a retried message, whose end is ${end}`, async () => {
        const name = `${mode}_${end}`
        const say = new Map<string, Verdict>([['a', 'fail']])
        await scene.publish(name, { id: 'a', part: 'cap-1' })
        const running = await scene.start(name, contract(name, say, { inbox: undefined, ...changes }))
        await until('a has failed', async () => (await scene.held(name))[0]?.code === 'E_NOT_YET')
        await scene.publish(name, { id: 'b', part: 'cap-1' })
        await heldAs(name, 'a stored', 'b stored')
        say.set('a', end as Verdict)
        await marked(name, ...wanted.markers)
        await running.drain()
        assert.deepEqual(await scene.done(name), wanted.done)
      })
    }
  }

  async function behindParked(name: string, say: Map<string, Verdict>, changes = {}): Promise<Running> {
    say.set('a', 'park')
    await scene.publish(name, { id: 'a', part: 'cap-1' })
    const running = await scene.start(name, contract(name, say, changes))
    await settled(scene, name)
    await scene.publish(name, { id: 'b', part: 'cap-1' })
    await settled(scene, name)
    await heldAs(name, 'a parked', 'b parked')
    return running
  }

  for (const [mode, changes] of Object.entries({ transactional: direct, ...modes })) {
    it(`${mode}: waits for a parked message, and is applied when that is skipped`, async () => {
      const name = `${mode}_skipped`
      const running = await behindParked(name, new Map(), { inbox: undefined, ...changes })
      await skip(name, 'a')
      await marked(name, 'a ignored', 'b applied')
      await running.drain()
      assert.deepEqual(await scene.done(name), ['b'])
    })

    it(`${mode}: waits for a parked message, and is a duplicate when that is applied`, async () => {
      const name = `${mode}_replayed`
      const say = new Map<string, Verdict>()
      const running = await behindParked(name, say, { inbox: undefined, ...changes })
      say.clear()
      await replayAll(scene, name, `${name}-1`, { ids: [(await scene.held(name))[0]!.id] })
      await marked(name, 'a applied', 'b duplicate')
      await running.drain()
      assert.deepEqual(await scene.done(name), ['a'])
    })
  }

  it('is parked by itself when its own turn fails, and keeps the key', async () => {
    const name = 'own_turn'
    const running = await behindParked(name, new Map<string, Verdict>([['b', 'park']]))
    await skip(name, 'a')
    await marked(name, 'a ignored', 'b parked')
    await scene.publish(name, { id: 'c', part: 'cap-1' })
    await heldAs(name, 'b parked', 'c parked')
    await skip(name, 'b')
    await marked(name, 'a ignored', 'b ignored', 'c applied')
    await running.drain()
  })

  it('with other content is a conflict only once the holder was applied', async () => {
    const name = 'other_content'
    const say = new Map<string, Verdict>([['a', 'park']])
    await scene.publish(name, { id: 'a', part: 'cap-1', version: 1 })
    const running = await scene.start(name, contract(name, say))
    await settled(scene, name)
    await scene.publish(name, { id: 'b', part: 'cap-1', version: 2 })
    await heldAs(name, 'a parked', 'b parked')
    say.clear()
    await replayAll(scene, name, `${name}-1`, { ids: [(await scene.held(name))[0]!.id] })
    await marked(name, 'a applied', 'b quarantined')
    await running.drain()
    assert.deepEqual(await scene.done(name), ['a'])
  })

  for (const verdict of ['ignore', 'reject', 'park'] as const) {
    for (const [mode, changes] of Object.entries({ transactional: direct, ...modes })) {
      it(`${mode}: in the batch of a message that ends with ${verdict}`, async () => {
        const name = `${mode}_together_${verdict}`
        const say = new Map<string, Verdict>([['a', verdict]])
        await scene.publish(name, { id: 'a', part: 'cap-1' }, { id: 'b', part: 'cap-1' })
        const running = await scene.start(name, contract(name, say, { inbox: undefined, ...changes }))
        if (verdict === 'park') {
          await heldAs(name, 'a parked', 'b parked')
          await skip(name, 'a')
        }
        await marked(name, verdict === 'reject' ? 'a dead' : 'a ignored', 'b applied')
        await running.drain()
        assert.deepEqual(await scene.done(name), ['b'])
      })
    }
  }
})
