import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { realEnvironment } from 'onceward'
import { purgeConsumer } from '../../src/operations/retention/purge-consumer.ts'
import { skipWithout } from '../services/services.ts'
import { type DaysScene, daysScene, idAt, noon } from './days-scene.ts'
import { day, purgeOptions } from './scene.ts'

/** Wide enough that days long past get a table when the markers move. */
const wide = { markers: '90d', partitions: 'daily' } as const

describe('markers in days', await skipWithout('postgres'), () => {
  for (const form of ['uuidv7', 'ulid'] as const) {
    test(`move to the day of their id (${form})`, async () => {
      await using scene = await daysScene(form)
      const { pool, consumerId } = scene
      const [today] = await scene.write(0, 5)
      const [old] = await scene.write(20, 5)
      await scene.markers('odd-', 5, 1)
      await scene.markers('other-', 5, 1, 'applied', scene.otherId)
      assert.deepEqual(await scene.partition(), { already: false, moved: 15 })
      assert.equal(await scene.tableOf(today!), scene.dayTable(0))
      assert.equal(await scene.tableOf(old!), scene.dayTable(20))
      assert.equal(await scene.tableOf('odd-00000001'), `inbox_${consumerId}_rest`)
      assert.deepEqual(await scene.tables(), [
        ...[20, 1, 0, -1, -2, -3].map(scene.dayTable),
        `inbox_${consumerId}_rest`,
        'inbox_rest',
      ])
      const { rows } = await pool.query('select count(*)::int from onceward.inbox')
      assert.equal(rows[0].count, 20)
      const midnight = noon(0) + day / 2
      assert.equal(await placeOf(scene, idAt(form, midnight - 1, 0)), scene.dayTable(0))
      assert.equal(await placeOf(scene, idAt(form, midnight, 0)), scene.dayTable(-1))
      assert.deepEqual(await scene.partition(), { already: true, moved: 0 })
    })

    test(`a day before the cutoff is dropped, and markers that must stay are kept (${form})`, async () => {
      await using scene = await daysScene(form)
      const { pool, consumerId } = scene
      await scene.write(40, 500)
      const late = await scene.write(40, 3, { appliedAgo: 5, from: 1_000 })
      const dead = await scene.write(40, 1, { status: 'dead', from: 2_000 })
      const buried = await scene.write(40, 1, { status: 'quarantined', from: 3_000 })
      await scene.held(dead[0]!, 'dead', 39)
      const young = await scene.write(5, 10)
      await scene.markers('odd-', 4, 40)
      await scene.partition(wide)
      assert.equal(await scene.left(), 519)

      const { removed, ended, putOff } = await scene.pass()
      assert.deepEqual([removed.markers, ended, putOff], [505, null, null])
      assert.equal((await scene.tables()).includes(scene.dayTable(40)), false)
      assert.equal(await scene.left(), 14)
      for (const id of [...late, ...dead]) assert.equal(await scene.tableOf(id), `inbox_${consumerId}_rest`)
      assert.equal(await scene.tableOf(buried[0]!), undefined)
      assert.equal(await scene.tableOf(young[0]!), scene.dayTable(5))
      const horizon = (await scene.horizon())!
      assert.equal(horizon.purged_count, 505)
      const behindMs = Date.now() - 30 * day - horizon.purged_before.getTime()
      assert.ok(behindMs >= 0 && behindMs < 60_000, 'the horizon is the cutoff')
      const { rows } = await pool.query(
        `select r.purged_count::int as ever, (select sum(count)::int from onceward.purged where consumer_id = $1 and kind = 'markers') as days
         from onceward.retention r where consumer_id = $1 and kind = 'markers'`,
        [consumerId],
      )
      assert.deepEqual(rows[0], { ever: 505, days: 505 })
      assert.equal((await scene.pass()).removed.markers, 0)
    })
  }

  test('a day with too many markers to keep waits a day, then is removed row by row', async () => {
    await using scene = await daysScene()
    await scene.write(31, 10)
    await scene.write(31, 1_001, { appliedAgo: 5, from: 100 })
    await scene.write(40, 10)
    await scene.write(40, 1_001, { appliedAgo: 5, from: 100 })
    await scene.partition(wide)
    assert.equal((await scene.pass()).removed.markers, 10)
    assert.equal(await scene.left(), 1_001 + 1_011)
    const tables = await scene.tables()
    assert.ok(tables.includes(scene.dayTable(31)) && tables.includes(scene.dayTable(40)))
  })

  test('a sealed day with many newer markers is removed row by row, and dropped when it is empty', async () => {
    await using scene = await daysScene()
    const { pool, consumerId } = scene
    await scene.write(40, 10)
    await scene.partition(wide)
    const values = [consumerId, new Date(noon(40))]
    await pool.query(`select onceward.seal_day($1, $2::date, clock_timestamp() - interval '30 days')`, values)
    await scene.write(40, 1_500, { appliedAgo: 5, from: 100 })
    assert.equal((await scene.pass()).removed.markers, 10)
    assert.ok((await scene.tables()).includes(scene.dayTable(40)))
    await pool.query(`update onceward.inbox set at = at - interval '60 days' where consumer_id = $1`, [
      consumerId,
    ])
    assert.equal((await scene.pass()).removed.markers, 1_500)
    assert.equal((await scene.tables()).includes(scene.dayTable(40)), false)
  })

  test('a day is kept until its last moment is behind the cutoff', async () => {
    await using scene = await daysScene()
    await scene.write(30, 10)
    await scene.write(31, 10)
    await scene.partition(wide)
    await scene.pass()
    const tables = await scene.tables()
    assert.deepEqual(
      [tables.includes(scene.dayTable(30)), tables.includes(scene.dayTable(31))],
      [true, false],
    )
  })

  test('while a message is unfinished, no later day is dropped', async () => {
    await using scene = await daysScene()
    await scene.write(50, 10)
    await scene.write(40, 10)
    await scene.partition(wide)
    await scene.held('parked-1', 'parked', 45)
    assert.equal((await scene.pass()).removed.markers, 10)
    assert.ok((await scene.tables()).includes(scene.dayTable(40)))
  })

  test('markers of a contract without days are removed row by row', async () => {
    await using scene = await daysScene()
    await scene.write(40, 10)
    await scene.write(5, 10)
    await scene.partition(wide)
    assert.equal((await scene.pass({ markers: '30d' })).removed.markers, 10)
    assert.equal(await scene.left(), 10)
    assert.ok((await scene.tables()).includes(scene.dayTable(40)))
  })

  test('missed days are created later, with the few markers in the default partition', async () => {
    await using scene = await daysScene()
    const { pool, consumerId } = scene
    await scene.partition()
    const part = scene.dayTable(0)
    const [id] = await scene.write(0, 3)
    await pool.query(`alter table onceward.inbox_${consumerId} detach partition onceward.${part}`)
    await pool.query(`insert into onceward.inbox select * from onceward.${part}`)
    await pool.query(`drop table onceward.${part}`)
    assert.equal(await scene.tableOf(id!), `inbox_${consumerId}_rest`)
    assert.equal((await scene.pass()).putOff, null)
    assert.equal(await scene.tableOf(id!), part)
  })

  test('a day with many markers in the default partition stays there, and the pass reports it', async () => {
    await using scene = await daysScene()
    const { pool, consumerId } = scene
    await scene.partition()
    await pool.query(`drop table onceward.${scene.dayTable(0)}`)
    const [id] = await scene.write(0, 1_001)
    assert.match((await scene.pass()).putOff!, /too many markers are outside of days/)
    assert.equal(await scene.tableOf(id!), `inbox_${consumerId}_rest`)
  })

  test('while a rebuild can be rolled back, no marker moves from table to table', async () => {
    await using scene = await daysScene()
    const { pool, consumerId } = scene
    await scene.write(50, 10)
    await scene.write(40, 10)
    const [late] = await scene.write(40, 1, { appliedAgo: 0, from: 50 })
    await scene.partition(wide)
    await pool.query(`drop table onceward.${scene.dayTable(0)}`)
    const [fresh] = await scene.write(0, 1)
    const places = () => Promise.all([late!, fresh!].map(scene.tableOf))
    await pool.query(`begin; set local session_replication_role = replica;
      insert into onceward.campaign (consumer_name, generation, live_generation, risk, mode, state, selection, reason)
      values ('remembering', 2, 1, 'money', 'rebuild', 'swapped', '{}', 'a test'); commit`)
    const { putOff } = await scene.pass()
    assert.match(putOff!, /too many markers are outside of days/)
    assert.deepEqual(await places(), [scene.dayTable(40), `inbox_${consumerId}_rest`])
    assert.equal(await scene.left(), 2, 'what may go does')
    await pool.query(`update onceward.campaign set state = 'finished'`)
    assert.equal((await scene.pass()).putOff, null)
    assert.deepEqual(await places(), [`inbox_${consumerId}_rest`, scene.dayTable(0)])
  })

  test('a pass that began before the markers moved removes nothing from other tables', async () => {
    for (const whose of ['its own', 'of another']) {
      await using scene = await daysScene()
      await scene.markers('old-', 3_000, 40)
      await scene.write(5, 3_000)
      await scene.markers('young-', 3_000, 5, 'applied', scene.otherId)
      await scene.markers('old-', 3_000, 40, 'applied', scene.otherId)
      const { timers, ...env } = realEnvironment()
      let moved: Promise<unknown> | undefined
      const after = (_ms: number, then: () => void) => {
        moved ??= scene.partition()
        void moved.finally(then)
        return () => {}
      }
      const of = whose === 'its own' ? scene : { ...scene, consumerId: scene.otherId }
      const options = purgeOptions(of, { markers: '30d' }, { ...env, timers: { ...timers, after } })
      await purgeConsumer({ ...options, share: 0.5 })
      assert.equal((await moved) !== undefined, true, 'they moved between two batches')
      const { rows } = await scene.pool.query(
        `select count(*)::int from onceward.inbox where at > clock_timestamp() - interval '30 days'`,
      )
      assert.equal(rows[0].count, 6_000, whose)
    }
  })

  test('other consumers of the database are processed as before', async () => {
    await using scene = await daysScene()
    await scene.partition()
    await scene.markers('old-', 200, 40, 'applied', scene.otherId)
    await scene.markers('young-', 10, 1, 'applied', scene.otherId)
    const other = { ...scene, consumerId: scene.otherId }
    assert.equal((await purgeConsumer(purgeOptions(other))).removed.markers, 200)
  })
})

async function placeOf(scene: DaysScene, id: string): Promise<string | undefined> {
  await scene.pool.query(
    `insert into onceward.inbox (consumer_id, run_id, status, message_id, digest) values ($1, 1, 'applied', $2, '')`,
    [scene.consumerId, id],
  )
  return scene.tableOf(id)
}
