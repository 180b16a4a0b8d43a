import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { partitionConsumer } from '../../src/operations/retention/partition-consumer.ts'
import { purgeConsumer } from '../../src/operations/retention/purge-consumer.ts'
import { People, refusal } from '../parking/people.ts'
import { skipWithout } from '../services/services.ts'
import { consumerOf, type DaysScene, daysScene, noon } from './days-scene.ts'
import { purgeOptions } from './scene.ts'

const daily = { markers: '30d', partitions: 'daily' } as const
const wide = { ...daily, markers: '90d' }
const drop = (ago: string) => `select onceward.drop_day($1, $2::date, clock_timestamp() - interval '${ago}')`

describe('the role of a consumer', await skipWithout('postgres'), () => {
  test('can run a whole pass: create days, drop them, scan the rest and write to new days', async () => {
    await using scene = await daysScene()
    await using run = await runRole(scene)
    await scene.write(40, 10)
    await scene.write(50, 2_000, { appliedAgo: 5 })
    await scene.write(50, 5, { from: 5_000 })
    await scene.markers('odd-', 5, 40)
    await scene.partition(wide)
    await scene.pool.query(`drop table onceward.${scene.dayTable(-3)}`)
    const pass = await purgeConsumer({ ...purgeOptions(scene, daily), pool: run.pool })
    assert.deepEqual([pass.removed.markers, pass.ended, pass.putOff], [20, null, null])
    const tables = await scene.tables()
    assert.deepEqual(
      [tables.includes(scene.dayTable(40)), tables.includes(scene.dayTable(-3))],
      [false, true],
    )
    await run.pool.query(`update onceward.${scene.dayTable(-3)} set status = 'applied'`)
    assert.equal(
      (await purgeConsumer({ ...purgeOptions({ ...scene, consumerId: scene.otherId }), pool: run.pool }))
        .ended,
      null,
    )
  })

  test('cannot drop a day that is too young, with any cutoff, nor one that unfinished work retains', async () => {
    await using scene = await daysScene()
    await using run = await runRole(scene)
    await scene.write(5, 10)
    await scene.write(40, 10)
    await scene.partition(wide)
    const { consumerId } = scene
    const young = /Day .* of consumer \d+ may not be dropped yet\. Nothing was changed\./
    assert.match(await refusal(run.pool, drop('1 day'), [consumerId, new Date(noon(5))]), young)
    assert.match(await refusal(run.pool, drop('30 days'), [consumerId, new Date(noon(5))]), young)
    assert.match(await refusal(run.pool, drop('45 days'), [consumerId, new Date(noon(40))]), young)
    assert.match(
      await refusal(run.pool, 'select onceward.drop_day($1, $2::date, null)', [
        consumerId,
        new Date(noon(40)),
      ]),
      young,
    )
    await scene.held('parked-1', 'parked', 50)
    assert.match(await refusal(run.pool, drop('30 days'), [consumerId, new Date(noon(40))]), young)
    await scene.pool.query(`delete from onceward.held`)
    await scene.pool.query(`update onceward.retention set action = 'archive'`)
    assert.match(await refusal(run.pool, drop('30 days'), [consumerId, new Date(noon(40))]), young)
    assert.equal(await scene.left(), 20)
    assert.match(await refusal(run.pool, `drop table onceward.${scene.dayTable(40)}`), /^42501/)
    assert.match(
      await refusal(run.pool, 'select onceward.make_day($1, current_date + 9)', [consumerId]),
      /^42501/,
    )
    assert.match(await refusal(run.pool, 'select onceward.make_days(77)'), /are not partitioned by day/)
  })

  test('cannot drop a young day by the name it shares with one before year 1', async () => {
    await using scene = await daysScene()
    await using run = await runRole(scene)
    await scene.write(0, 10)
    await scene.partition()
    const values = [scene.consumerId, `${new Date(noon(0)).toISOString().slice(0, 10)} BC`]
    for (const text of [drop('30 days'), drop('30 days').replace('drop_day', 'seal_day')])
      assert.match(await refusal(run.pool, text, values), /may not be dropped yet/)
    assert.ok((await scene.tables()).includes(scene.dayTable(0)))
  })

  test('cannot move more under lock than a pass would, by sealing a day itself', async () => {
    await using scene = await daysScene()
    await using run = await runRole(scene)
    await scene.write(40, 1_001, { appliedAgo: 5 })
    await scene.partition(wide)
    const values = [scene.consumerId, new Date(noon(40))]
    await run.pool.query(drop('30 days').replace('drop_day', 'seal_day'), values)
    const { rows } = await run.pool.query(`${drop('30 days')} as answer`, values)
    assert.deepEqual(rows[0].answer, { did: 'stays' })
  })

  test('cannot move markers into days: one clear error', async () => {
    await using scene = await daysScene()
    await using run = await runRole(scene)
    await assert.rejects(
      partitionConsumer(run.pool, consumerOf() as never),
      /Only the owner of the schema may do this: connect as \w+, not as \w+\. Nothing was changed/,
    )
  })
})

async function runRole(scene: DaysScene) {
  await scene.pool.query('select onceward.create_roles()')
  const people = new People(scene.pool, scene.url)
  const { pool } = await people.login(['onceward_run'], { person: false })
  return { pool, [Symbol.asyncDispose]: () => people.close() }
}
