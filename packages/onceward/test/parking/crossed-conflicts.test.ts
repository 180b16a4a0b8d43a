import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { postgresQueue } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { skipWithout } from '../services/services.ts'
import { Scene } from '../work/scene.ts'
import { direct } from './parked-scene.ts'

const ids = ['a', 'b', 'c', 'd', 'e']

describe('conflicts that two processes set aside in opposite order', await skipWithout('postgres'), () => {
  it('are counted, though the server undoes one of the two: it runs again', async t => {
    const scene = await Scene.open()
    t.after(() => scene.close())
    const other = ids.map(id => ({ id, part: 'other' }))
    const one = await scene.start('crossed', direct)
    await scene.publish('crossed', ...ids.map(id => ({ id, part: 'one' })), ...other)
    await until('all conflict', async () => (await scene.held('crossed')).length === ids.length)
    await scene.publish('opposite')
    const two = await scene.start('crossed', { ...direct, source: postgresQueue('opposite') })

    const locker = await scene.pool.connect()
    await locker.query(`begin; select from onceward.held where message_id = 'c' for update`)
    await scene.publish('crossed', ...other)
    await scene.publish('opposite', ...other.toReversed())
    await until('both wait in the middle', async () => {
      const { rows } = await scene.pool.query(
        `select count(*)::int as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rows[0].waiting === 2
    })
    await locker.query('rollback')
    locker.release()

    await until('all are settled', async () => {
      const left = [await scene.depth('crossed'), await scene.depth('opposite')]
      return left.every(depth => depth === 0)
    })
    await Promise.all([one.drain(), two.drain()])
    const { rows } = await scene.pool.query(
      'select message_id as id, seen from onceward.held order by message_id',
    )
    assert.deepEqual(
      rows,
      ids.map(id => ({ id, seen: 3 })),
    )
    assert.deepEqual((await scene.done('crossed')).sort(), ids)
    const server = await scene.pool.query(
      'select deadlocks::int from pg_stat_database where datname = current_database()',
    )
    t.diagnostic(`deadlocks: ${server.rows[0].deadlocks}`)
  })
})
