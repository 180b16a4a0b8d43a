import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { publish } from 'onceward/postgres'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import { showRedrive } from '../../src/operations/parking/redrive-parked.ts'
import { skipParked } from '../../src/operations/parking/skip-parked.ts'
import { skipWithout } from '../services/services.ts'
import { Scene } from '../work/scene.ts'
import { direct, failing, replayAll, settled } from './parked-scene.ts'

const noRetry = { ...direct, failure: { attemptsMax: 1, delayMs: 1 } }

describe('parked messages with unusual histories', await skipWithout('postgres'), () => {
  let scene: Scene
  before(async () => {
    scene = await Scene.open()
  })
  after(() => scene.close())

  it('is skipped with any headers', async () => {
    const changes = { ...noRetry, ...failing('odd', new Set(['m'])) }
    const running = await scene.start('odd', changes)
    await scene.publish('odd')
    await publish(scene.pool, 'odd', [{ body: { id: 'm' }, headers: { odd: '\u0000', half: '\ud800' } }])
    await settled(scene, 'odd')
    await running.drain()
    const { rows, digest } = await previewParked(scene.pool, { consumer: 'odd', countMax: 10 })
    const ids = rows.map(row => row.id)
    const { closed } = await skipParked(scene.pool, { consumer: 'odd', ids, digest, because: 'garbage' })
    assert.equal(closed, 1)
    assert.deepEqual(await scene.markers('odd'), ['m ignored'])
  })

  it('is not applied as new once the marker it conflicts with is removed', async () => {
    const running = await scene.start('changed', direct)
    await scene.publish('changed', { id: 'm', part: 'one' })
    await settled(scene, 'changed')
    await scene.publish('changed', { id: 'm', part: 'other' })
    await settled(scene, 'changed')
    await scene.pool.query(`delete from onceward.inbox where message_id = 'm' and status = 'applied'`)
    await replayAll(scene, 'changed', 'changed')
    assert.deepEqual((await showRedrive(scene.pool, 'changed', 10)).outcomes, { left: 1 })
    await running.drain()
    assert.deepEqual(await scene.done('changed'), ['m'])
  })
})
