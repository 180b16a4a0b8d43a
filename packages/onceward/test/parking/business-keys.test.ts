import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { reject } from 'onceward'
import { until } from 'onceward/testing'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import { showRedrive } from '../../src/operations/parking/redrive-parked.ts'
import { skipParked } from '../../src/operations/parking/skip-parked.ts'
import { skipWithout } from '../services/services.ts'
import { type JobContext, Scene, write } from '../work/scene.ts'
import { direct, isIdle, replayAll, settled } from './parked-scene.ts'

describe('parked work of one business key', await skipWithout('postgres'), () => {
  let scene: Scene
  before(async () => {
    scene = await Scene.open()
  })
  after(() => scene.close())

  /** `part` is the business key; rejects those in `bad`. */
  const contract = (name: string, bad: ReadonlySet<string>) => ({
    ...direct,
    identity: { id: (m: { id: string }) => m.id, businessKey: (m: { part?: string }) => m.part },
    handle: async (context: JobContext) => {
      if (bad.has(context.message.id)) return reject('wrong')
      await write(context, name)
      return undefined
    },
  })
  const outcomes = async (request: string) =>
    (await showRedrive(scene.pool, request, 10)).rows.map(({ messageId, outcome, why }) => [
      messageId,
      outcome,
      why,
    ])
  const keys = async () => (await scene.pool.query('select key, message_id from onceward.business_key')).rows

  it('has one effect, though two dead letters are redriven in one stage', async () => {
    const bad = new Set(['one', 'two'])
    await scene.publish('twins', { id: 'one', part: 'order-1' })
    const running = await scene.start('twins', contract('twins', bad))
    await settled(scene, 'twins')
    await scene.publish('twins', { id: 'two', part: 'order-1' })
    await settled(scene, 'twins')
    bad.clear()
    await replayAll(scene, 'twins', 'twins-1')
    await until('nothing is at work', () => isIdle(scene, 'twins'))
    await running.drain()
    assert.deepEqual(await scene.done('twins'), ['one'])
    assert.deepEqual(await outcomes('twins-1'), [
      ['one', 'applied', null],
      ['two', 'left', 'its business key was used by message one'],
    ])
  })

  it('is left when another message takes the key while it is moved', async () => {
    const bad = new Set(['late'])
    await scene.publish('raced', { id: 'late', part: 'order-2' })
    const running = await scene.start('raced', contract('raced', bad))
    await settled(scene, 'raced')
    bad.clear()
    const other = await scene.pool.connect()
    await other.query('begin')
    await other.query(
      `insert into onceward.business_key (consumer_id, key, message_id)
       select consumer_id, business_key, 'first' from onceward.held where message_id = 'late'`,
    )
    const replayed = replayAll(scene, 'raced', 'raced-1')
    await until('the replay waits for it', async () => {
      const { rows } = await scene.pool.query(
        `select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rows[0].waiting === 1
    })
    await other.query('commit')
    other.release()
    await replayed
    await running.drain()
    assert.deepEqual(await outcomes('raced-1'), [
      ['late', 'left', 'its business key was used by message first'],
    ])
    assert.deepEqual(await scene.done('raced'), [])
    assert.deepEqual(await scene.markers('raced'), ['late dead'])
  })

  it('holds no key for messages that are left', async () => {
    const running = await scene.start('kept', contract('kept', new Set()))
    await scene.publish('kept', { id: 'm', part: 'order-3' })
    await settled(scene, 'kept')
    await scene.publish('kept', { id: 'm', part: 'order-4' })
    await settled(scene, 'kept')
    await replayAll(scene, 'kept', 'kept-1')
    await running.drain()
    assert.deepEqual(await outcomes('kept-1'), [['m', 'left', 'its message id is already applied']])
    assert.deepEqual(
      (await keys()).filter(({ message_id }) => message_id === 'm'),
      [{ key: 'order-3', message_id: 'm' }],
    )
  })

  it('stays used by what was applied when other content under its id is skipped', async () => {
    const running = await scene.start('skipped', contract('skipped', new Set()))
    await scene.publish('skipped', { id: 'paid', part: 'order-5' })
    await settled(scene, 'skipped')
    await scene.publish('skipped', { id: 'paid', part: 'order-5', version: 2 })
    await settled(scene, 'skipped')
    const { rows, digest } = await previewParked(scene.pool, { consumer: 'skipped', countMax: 10 })
    assert.equal(rows[0]!.code, 'conflict')
    const ids = rows.map(row => row.id)
    await skipParked(scene.pool, { consumer: 'skipped', ids, digest, because: 'a copy that was altered' })
    await scene.publish('skipped', { id: 'paid again', part: 'order-5' })
    await settled(scene, 'skipped')
    await running.drain()
    assert.deepEqual(await scene.done('skipped'), ['paid'])
  })
})
