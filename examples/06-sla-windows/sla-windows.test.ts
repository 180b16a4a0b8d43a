import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { skipWithout } from '../../packages/onceward/test/services/services.ts'
import { answered, sample } from './produce.ts'
import { openScene, type Scene } from './test/scene.ts'

const hours = async (scene: Scene) =>
  (
    await scene.rows(
      `select key, extract(hour from window_start at time zone 'UTC')::int as hour, count::int, minutes::text, breaches::int
       from sla_hour order by 1, 2`,
    )
  ).map(Object.values)
const exact = 'the summary is exactly what the facts say'

describe('sla windows', await skipWithout('postgres'), () => {
  it('adds up answers, minutes and breaches by team and hour of event time, each fact once', async t => {
    const scene = await openScene(t)
    const resent = answered('a', 10, { messageId: 'resent' })
    await scene.send(answered('a', 10), answered('b', 59, { breached: true }), answered('c', 60), resent)
    const running = await scene.run()
    await scene.empty()
    assert.deepEqual(await hours(scene), [
      ['north', 8, 2, '15.00', 1],
      ['north', 9, 1, '7.50', 0],
    ])
    assert.equal(running.consumer!.tally.outcomes.duplicate, 1)
  })

  it('corrects by reversing entries, and keeps the original facts', async t => {
    const scene = await openScene(t)
    const fix = answered('fix', 10, { corrects: 'a', minutes: '2.00', breached: true })
    const gone = answered('gone', 20, { corrects: 'b', withdrawn: true })
    await scene.send(answered('a', 10), answered('b', 20), fix, gone)
    await scene.run()
    await scene.empty()
    assert.deepEqual(await hours(scene), [['north', 8, 1, '2.00', 1]])
    assert.deepEqual(
      (await scene.rows('select event_id, reverses, minutes::text from sla_fact order by 1, sign')).map(
        Object.values,
      ),
      [
        ['a', null, '7.50'],
        ['b', null, '7.50'],
        ['fix', 'a', '-7.50'],
        ['fix', null, '2.00'],
        ['gone', 'b', '-7.50'],
      ],
    )
    assert.equal(await scene.drift(), exact)
  })

  it('parks a fact after its hour was closed, and counts one within a quarter of an hour', async t => {
    const scene = await openScene(t)
    await scene.run()
    await scene.send(answered('a', 70))
    await scene.empty()
    await scene.send(answered('in time', 59))
    await scene.empty()
    await scene.send(answered('b', 75))
    await scene.empty()
    await scene.send(answered('late', 58), answered('other team', 58, { team: 'south' }))
    await scene.empty()
    assert.deepEqual(await scene.rows('select message_id, state::text, code from onceward.held'), [
      { message_id: 'late', state: 'parked', code: 'late_fact' },
    ])
    assert.deepEqual(
      (await hours(scene)).map(([team, hour, count]) => [team, hour, count]),
      [
        ['north', 8, 1],
        ['north', 9, 2],
        ['south', 8, 1],
      ],
    )
  })

  for (const point of ['batch.applied', 'batch.committed'] as const) {
    it(`has the same totals when it is killed at ${point}`, async t => {
      const events = sample(200)
      const clean = await openScene(t)
      await clean.send(...events)
      await clean.run()
      await clean.empty()
      const scene = await openScene(t)
      await scene.send(...events)
      assert.equal(await scene.dies(point), 'SIGKILL')
      await scene.run()
      await scene.empty()
      assert.deepEqual(await hours(scene), await hours(clean))
      assert.deepEqual(await scene.rows('select sum(count)::int as count from sla_hour'), [{ count: 200 }])
      assert.equal(await scene.drift(), exact)
    })
  }
})
