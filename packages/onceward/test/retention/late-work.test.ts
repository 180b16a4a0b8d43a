import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { purgeConsumer } from '../../src/operations/retention/purge-consumer.ts'
import { blockedKeys, replayAll } from '../parking/parked-scene.ts'
import { skipWithout } from '../services/services.ts'
import { type Job, Scene } from '../work/scene.ts'
import { day, purgeOptions } from './scene.ts'

describe('messages that are applied late', await skipWithout('postgres'), () => {
  test('have their business key remembered from then on', async t => {
    const scene = await Scene.open()
    t.after(() => scene.close())
    const identity = { id: (job: Job) => job.id, businessKey: (job: Job) => job.key }
    await scene.store('late', { identity }, { id: 'a', key: 'order 1' })
    await scene.pool.query(
      `update onceward.business_key set at = at - interval '40 days'; update onceward.inbox set at = at - interval '40 days'`,
    )
    const running = await scene.start('late', { identity })
    await until('it is done', async () => (await scene.held('late')).length === 0)
    await purgeConsumer(purgeOptions({ pool: scene.pool, consumerId: 1 }))
    await scene.publish('late', { id: 'b', key: 'order 1' })
    await until('the other is settled', async () => (await scene.depth('late')) === 0)
    await running.drain()
    assert.deepEqual(await scene.done('late'), ['a'])
    assert.deepEqual(await scene.markers('late'), ['a applied', 'b duplicate'])
  })

  test('keep their place in stored mode: later messages of the key wait behind one from before the horizon', async t => {
    const scene = await Scene.open()
    t.after(() => scene.close())
    const changes = {
      order: 'key' as const,
      retention: { markers: '30d', sourceKeeps: '20d' },
    }
    await scene.store('old', changes, { id: 'first', key: 'other' })
    await scene.pool.query(
      `insert into onceward.horizon (consumer_id, purged_before) select id, clock_timestamp() - interval '30 days' from onceward.consumer`,
    )
    await publish(scene.pool, 'old', [
      { body: { id: 'k1', key: 'k' }, key: 'k', properties: { timestampMs: Date.now() - 40 * day } },
      { body: { id: 'k2', key: 'k' }, key: 'k', properties: { timestampMs: Date.now() } },
    ])
    await scene.start('old', changes)
    await until('all is settled', async () => (await scene.depth('old')) === 0)
    await until('the rest is parked', async () =>
      (await scene.held('old')).every(row => row.state === 'parked'),
    )
    assert.deepEqual(
      (await scene.held('old')).map(row => `${row.message_id} ${row.code}`),
      ['k1 behind_horizon', 'k2 behind_parked'],
    )
    await replayAll(scene, 'old', 'r')
    await until('all is done', async () => (await scene.held('old')).length === 0)
    assert.deepEqual(await scene.done('old'), ['first', 'k1', 'k2'])
    await until('the key is free', async () => (await blockedKeys(scene, 'old')).length === 0)
  })
})
