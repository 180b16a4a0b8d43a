import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createPool, migrate, publish } from 'onceward/postgres'
import { skipParked } from '../../src/parking/decide-parked.ts'
import { groupParked } from '../../src/parking/group-parked.ts'
import { previewParked } from '../../src/parking/preview-parked.ts'
import { showReplay } from '../../src/parking/replay-parked.ts'
import { migrations } from '../../src/stores/postgres/migrations/index.ts'
import { Scene } from '../inbox/scene.ts'
import { createEmptyDatabase, skipWithout } from '../services/services.ts'
import { direct, failing, replayAll, settled } from './parked-scene.ts'

const noRetry = { ...direct, failure: { attemptsMax: 1, delayMs: 1 } }

describe('parked work with a past', await skipWithout('postgres'), () => {
  let scene: Scene
  before(async () => {
    scene = await Scene.open()
  })
  after(() => scene.close())

  it('is skipped whatever its headers say', async () => {
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
    assert.deepEqual((await showReplay(scene.pool, 'changed', 10)).outcomes, { left: 1 })
    await running.drain()
    assert.deepEqual(await scene.done('changed'), ['m'])
  })

  it('is counted although it was parked by an older version', async () => {
    const database = await createEmptyDatabase()
    const pool = createPool(database.url)
    try {
      await migrate(pool)
      await pool.query('drop schema onceward cascade')
      await pool.query(`create schema onceward; create table onceward.migration (
        version integer primary key, name text not null, compatible_from integer not null,
        applied_at timestamptz not null default clock_timestamp())`)
      await pool.query(migrations[0]!.sql)
      await pool.query(`insert into onceward.migration (version, name, compatible_from) values (1, 'spine', 1);
        insert into onceward.consumer (name, generation, owner, risk) values ('old', 1, 'tests', 'money');
        insert into onceward.held (consumer_id, run_id, state, message_id, digest, origin, delivery_count, headers, properties, body, code)
        select 1, 1, 'parked', 'm' || n, sha256('x'), 'q', 0, '{}', '{}', 'x', 'E_OLD' from generate_series(1, 3) n`)
      const ends = await Promise.all([migrate(pool), migrate(pool)])
      assert.equal(ends.flatMap(end => end.applied).length, migrations.length - 1)
      const groups = await groupParked(pool, { consumer: 'old', countMax: 10 })
      assert.deepEqual(
        groups.map(({ code, count }) => [code, count]),
        [['E_OLD', 3]],
      )
      const { rows } = await pool.query('select sum(delta)::int as total from onceward.parked_count')
      assert.deepEqual(rows, [{ total: 3 }])
    } finally {
      await pool.end()
      await database.drop()
    }
  })
})
