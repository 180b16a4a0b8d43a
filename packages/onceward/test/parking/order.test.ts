import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { quarantine } from 'onceward'
import { until } from 'onceward/testing'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import { runRedrive, startRedrive, stopRedrive } from '../../src/operations/parking/redrive-parked.ts'
import { skipParked } from '../../src/operations/parking/skip-parked.ts'
import { releaseHeld } from '../../src/operations/work/release-held.ts'
import { skipWithout } from '../services/services.ts'
import { type JobContext, Scene, write } from '../work/scene.ts'
import { blockedKeys, failing, inOrder, isIdle, replayAll, settled } from './parked-scene.ts'

describe('a parked key', await skipWithout('postgres'), () => {
  let scene: Scene
  before(async () => {
    scene = await Scene.open()
  })
  after(() => scene.close())

  const jobs = (key: string, from: number, to: number) =>
    Array.from({ length: to - from }, (_, n) => ({ id: `${key}-${String(from + n).padStart(3, '0')}`, key }))
  const ids = (key: string, from: number, to: number) => jobs(key, from, to).map(job => job.id)
  const of = (key: string, done: readonly string[]) => done.filter(id => id.startsWith(`${key}-`))

  it('keeps later messages behind it, lets other keys pass, and returns to live processing without a gap', async () => {
    const bad = new Set(['a-001'])
    await scene.publish('live', ...jobs('a', 0, 4), ...jobs('b', 0, 4))
    const running = await scene.start('live', { ...inOrder, ...failing('live', bad) })
    await until('the second is parked', async () => (await scene.held('live')).length === 3)
    await scene.publish('live', ...jobs('a', 4, 6), ...jobs('b', 4, 6))
    await settled(scene, 'live')
    assert.deepEqual(of('b', await scene.done('live')), ids('b', 0, 6))
    assert.deepEqual(of('a', await scene.done('live')), ['a-000'])
    assert.deepEqual(await blockedKeys(scene, 'live'), ['a parked'])
    bad.clear()
    const more = scene.publish('live', ...jobs('a', 6, 60))
    await replayAll(scene, 'live', 'live-1', { key: 'a', states: ['parked'] })
    await more
    await scene.publish('live', ...jobs('a', 60, 80))
    await until('all of the key is done', async () => of('a', await scene.done('live')).length === 80)
    assert.deepEqual(of('a', await scene.done('live')), ids('a', 0, 80))
    await until('the key is live again', async () => (await blockedKeys(scene, 'live')).length === 0)
    await scene.publish('live', ...jobs('a', 80, 82))
    await until('live again', async () => of('a', await scene.done('live')).length === 82)
    await running.drain()
    assert.deepEqual(of('a', await scene.done('live')), ids('a', 0, 82))
  })

  it('whose released head fails again is parked again, with all behind it', async () => {
    const bad = new Set(['a-000'])
    await scene.publish('again', ...jobs('a', 0, 5))
    const running = await scene.start('again', { ...inOrder, ...failing('again', bad) })
    await until('all are parked', async () => (await scene.held('again')).length === 5)
    await replayAll(scene, 'again', 'again-1', { key: 'a' })
    await until('parked again', async () => {
      const held = await scene.held('again')
      return held.every(row => row.state === 'parked') && held[0]!.epoch > 0
    })
    assert.deepEqual(
      (await scene.held('again')).map(row => [row.message_id, row.code]),
      ids('a', 0, 5).map((id, n) => [id, n === 0 ? 'E_BAD' : 'behind_parked']),
    )
    assert.deepEqual(await blockedKeys(scene, 'again'), ['a parked'])
    await scene.publish('again', ...jobs('a', 5, 6))
    await settled(scene, 'again')
    bad.clear()
    await replayAll(scene, 'again', 'again-2', { key: 'a' })
    await until('all are done', async () => (await scene.done('again')).length === 6)
    await running.drain()
    assert.deepEqual(await scene.done('again'), ids('a', 0, 6))
  })

  it('that is released stays blocked for live messages while anything of it is left', async () => {
    const changes = { ...inOrder, ...failing('swept', new Set(['a-000'])) }
    await scene.publish('swept', ...jobs('a', 0, 2))
    const running = await scene.start('swept', changes)
    await until('both are parked', async () => (await scene.held('swept')).length === 2)
    await running.drain()
    await replayAll(scene, 'swept', 'swept-1')
    const sweep = () =>
      scene.pool.query(`select onceward.sweep_keys(id) from onceward.consumer where name = 'swept'`)
    await sweep()
    assert.deepEqual(await blockedKeys(scene, 'swept'), ['a released'])
    await scene.pool.query(`delete from onceward.held where message_id = 'a-000' and origin = 'swept'`)
    await sweep()
    assert.deepEqual(await blockedKeys(scene, 'swept'), ['a released'])
    await scene.pool.query(`delete from onceward.held where origin = 'swept'`)
    await sweep()
    assert.deepEqual(await blockedKeys(scene, 'swept'), [])
  })

  it('continues past a head that is skipped, which counts as a declared gap', async () => {
    await scene.publish('skipped', ...jobs('a', 0, 3))
    const running = await scene.start('skipped', { ...inOrder, ...failing('skipped', new Set(['a-000'])) })
    await until('all are parked', async () => (await scene.held('skipped')).length === 3)
    const [head] = await scene.held('skipped')
    const { digest } = await previewParked(scene.pool, { consumer: 'skipped', ids: [head!.id], countMax: 10 })
    const order = { consumer: 'skipped', ids: [head!.id], digest, because: 'the customer cancelled' }
    assert.deepEqual(await skipParked(scene.pool, order), { ok: true, closed: 1, freed: 2 })
    await until('the others are done', async () => (await scene.done('skipped')).length === 2)
    await scene.publish('skipped', ...jobs('a', 0, 1))
    await settled(scene, 'skipped')
    await running.drain()
    assert.deepEqual(await scene.done('skipped'), ['a-001', 'a-002'])
    assert.deepEqual(await scene.markers('skipped'), ['a-000 ignored', 'a-001 applied', 'a-002 applied'])
    const { rows } = await scene.pool.query(
      `select message_id, closed_as as how, reason, body is not null as kept from onceward.closed_held where held_id = $1`,
      [head!.id],
    )
    assert.deepEqual(rows, [
      { message_id: 'a-000', how: 'skipped', reason: 'the customer cancelled', kept: true },
    ])
  })

  it('with a quarantined head is freed by operators, and the head stays', async () => {
    const stored = { ...inOrder, inbox: { mode: 'stored' as const } }
    const changes = {
      ...stored,
      handle: (context: JobContext) =>
        context.message.id === 'a-000'
          ? quarantine('odd', 'odd', { blocksKey: true })
          : write(context, 'odd'),
    }
    await scene.publish('odd', ...jobs('a', 0, 3))
    const running = await scene.start('odd', changes)
    await until('it is quarantined', async () => (await scene.held('odd'))[0]?.state === 'quarantined')
    const blocked = await blockedKeys(scene, 'odd')
    if (blocked.length > 0) {
      await releaseHeld(scene.pool, {
        id: (await scene.held('odd'))[0]!.id,
        consumer: 'odd',
        because: 'seen',
      })
    }
    await until('the others are done', async () => (await scene.done('odd')).length === 2)
    await running.drain()
    assert.deepEqual(await scene.done('odd'), ['a-001', 'a-002'])
  })

  it('counts messages behind its head against the rate of a redrive', async () => {
    const bad = new Set(['a-000', 'b-000'])
    await scene.publish('rated', ...jobs('a', 0, 4), ...jobs('b', 0, 4))
    const running = await scene.start('rated', { ...inOrder, ...failing('rated', bad) })
    await until('all are parked', async () => (await scene.held('rated')).length === 8)
    await running.drain()
    const { rows } = await previewParked(scene.pool, { consumer: 'rated', countMax: 10 })
    const heads = rows.filter(row => bad.has(row.messageId!)).map(row => row.id)
    const { digest } = await previewParked(scene.pool, { consumer: 'rated', ids: heads, countMax: 10 })
    const order = { consumer: 'rated', ids: heads, digest, perSecond: 1, because: 'x' }
    await startRedrive(scene.pool, { requestId: 'rated-1', ...order })
    const waits: number[] = []
    const stopped = await runRedrive(scene.pool, 'rated-1', {
      pause: async ms => {
        waits.push(ms)
        await stopRedrive(scene.pool, 'rated-1', 'seen enough')
      },
    })
    assert.deepEqual([stopped.moved, stopped.behind], [1, 3])
    assert.ok(waits[0]! > 3_000 && waits[0]! <= 4_000, `${waits[0]}`)
  })

  it('at its cap leaves the next message at the source, logs it, and drops nothing', async () => {
    const bad = new Set(['a-000'])
    const failure = { ...inOrder.failure, parking: { perKeyMax: 3 } }
    const changes = { ...inOrder, ...failing('full', bad), failure, batch: { sizeMax: 1, inFlightMax: 1 } }
    await scene.publish('full', ...jobs('a', 0, 8), ...jobs('b', 0, 2))
    const running = await scene.start('full', changes)
    await until('the cap is reached', () => scene.counted('parkingFull') > 0)
    await until('the other key is done', async () => of('b', await scene.done('full')).length === 2)
    assert.equal((await scene.held('full')).length, 4)
    await until('the four of the full key wait', async () => (await scene.depth('full')) === 4)
    bad.clear()
    await replayAll(scene, 'full', 'full-1', { key: 'a' })
    await until('all are done', async () => of('a', await scene.done('full')).length === 8)
    await running.drain()
    assert.deepEqual(of('a', await scene.done('full')), ids('a', 0, 8))
  })

  it('at its cap has room again when one that waits behind its head is skipped', async () => {
    const failure = { ...inOrder.failure, parking: { perKeyMax: 2 } }
    const bad = failing('room', new Set(['a-000']))
    await scene.publish('room', ...jobs('a', 0, 4))
    const running = await scene.start('room', {
      ...inOrder,
      ...bad,
      failure,
      batch: { sizeMax: 1, inFlightMax: 1 },
    })
    await until('the cap is reached', async () => (await scene.held('room')).length === 3)
    const [, next] = (await scene.held('room')).map(row => row.id)
    const { digest } = await previewParked(scene.pool, { consumer: 'room', ids: [next!], countMax: 1 })
    await skipParked(scene.pool, { consumer: 'room', ids: [next!], digest, because: 'not needed' })
    await settled(scene, 'room')
    await running.drain()
    const held = (await scene.held('room')).map(row => row.message_id)
    assert.deepEqual(held, ['a-000', 'a-002', 'a-003'])
  })

  it('a full lot parks nothing more: failed messages wait at the source', async () => {
    const bad = new Set(['x', 'y'])
    const failure = { ...inOrder.failure, parking: { totalMax: 1 } }
    const changes = {
      inbox: inOrder.inbox,
      ...failing('lot', bad),
      failure,
      batch: { sizeMax: 1, inFlightMax: 1 },
    }
    const earlier = scene.counted('parkingFull')
    await scene.publish('lot', { id: 'x' }, { id: 'y' }, { id: 'z' })
    const running = await scene.start('lot', changes)
    await until('the lot is full', () => scene.counted('parkingFull') > earlier)
    await until('the healthy one is done', async () => (await scene.done('lot')).length === 1)
    assert.deepEqual(
      (await scene.held('lot')).map(row => row.message_id),
      ['x'],
    )
    bad.clear()
    await until('the one that waited is done', async () => (await scene.done('lot')).length === 2)
    await until('nothing is at work', () => isIdle(scene, 'lot'))
    await running.drain()
  })
})
