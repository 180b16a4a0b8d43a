import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { park, runConsumer } from 'onceward'
import { until } from 'onceward/testing'
import { listParked } from '../../src/operations/parking/list-parked.ts'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import { skipParked } from '../../src/operations/parking/skip-parked.ts'
import { replayAll } from '../parking/parked-scene.ts'
import { skipWithout } from '../services/services.ts'
import { type FactContract, factContract, Scene } from './scene.ts'

const parking = (() => park('not today')) as NonNullable<FactContract['handle']>

/** Held by `onceward run --mode replay`, which is no campaign. */
async function heldByReplay(scene: Scene, changes: Partial<FactContract> = {}): Promise<void> {
  await scene.write({ id: 'a' })
  const running = await runConsumer(scene.contract({ handle: parking, ...changes }), {
    databaseUrl: scene.url,
    parts: ['consumer'],
    mode: 'replay',
  })
  await running.finished
  assert.deepEqual(
    (await listParked(scene.pool, { countMax: 10 })).map(row => [row.messageId, row.mode, row.campaign]),
    [['a', 'replay', null]],
  )
}

async function work(scene: Scene): Promise<void> {
  const worker = await runConsumer(scene.contract(), { databaseUrl: scene.url, parts: ['worker'] })
  await until('it is applied', async () => (await scene.rows('select from effect')).length === 1)
  await worker.drain()
}

const asked = async (scene: Scene) =>
  (await scene.rows<{ key: string }>('select effect_key as key from onceward.ledger')).map(row => row.key)

describe('what "run --mode replay" held', await skipWithout('postgres'), () => {
  test('and the source delivers live is live work: its effects are requested once', async t => {
    const scene = await Scene.open(t)
    await heldByReplay(scene)
    const seen = await previewParked(scene.pool, { consumer: 'facts', countMax: 10 })
    await scene.write({ id: 'a' })
    await scene.live(scene.contract())
    await scene.write({ id: 'a' })
    await scene.live(scene.contract())
    assert.deepEqual(
      (await listParked(scene.pool, { countMax: 10 })).map(row => row.mode),
      ['live'],
    )
    // What was looked at asked for nothing outside; this does.
    const ids = seen.rows.map(row => row.id)
    await assert.rejects(
      skipParked(scene.pool, { consumer: 'facts', ids, digest: seen.digest, because: 'x' }),
      /changed|not what/,
    )
    await replayAll(scene, 'facts', 'r')
    await work(scene)
    assert.deepEqual(await scene.rows('select id, times, mode from effect'), [
      { id: 'a', times: 1, mode: 'live' },
    ])
    assert.deepEqual(await asked(scene), ['a'])
    assert.equal((await scene.rows('select from onceward.outbox')).length, 1)
  })

  test('stays in its mode while it is not delivered live', async t => {
    const scene = await Scene.open(t)
    await heldByReplay(scene)
    await replayAll(scene, 'facts', 'r')
    await work(scene)
    assert.deepEqual(await scene.rows('select id, mode from effect'), [{ id: 'a', mode: 'replay' }])
    assert.deepEqual(await asked(scene), [])
  })

  test('and a worker has in that mode when it is delivered live: the worker finishes nothing, the live one requests the effects', async t => {
    const scene = await Scene.open(t)
    await heldByReplay(scene)
    await replayAll(scene, 'facts', 'r')
    const begun = Promise.withResolvers<void>()
    const open = Promise.withResolvers<void>()
    const worker = await runConsumer(
      scene.contract({
        handle: async context => {
          begun.resolve()
          await open.promise
          return factContract('').handle!(context)
        },
      }),
      { databaseUrl: scene.url, parts: ['worker'] },
    )
    await begun.promise
    await scene.write({ id: 'a' })
    await scene.live(scene.contract())
    open.resolve()
    await until('it is applied', async () => (await scene.rows('select from effect')).length === 1)
    await worker.drain()
    assert.deepEqual(await scene.rows('select mode, times from effect'), [{ mode: 'live', times: 1 }])
    assert.deepEqual(await asked(scene), ['a'])
  })
})
