import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { until } from 'onceward/testing'
import { skipWithout } from '../../packages/onceward/test/services/services.ts'
import consumer from './case-projection.ts'
import { caseEvent, sample } from './produce.ts'
import { openScene, type Scene } from './test/scene.ts'

/** With the number of events that moved the case, as its history says. */
const projection = (scene: Scene) =>
  scene.rows(
    `select case_id, version::int, state, event_id,
       (select count(*)::int from case_move m where m.case_id = p.case_id) as moves
     from case_projection p order by 1`,
  )
const notes = (scene: Scene) =>
  scene.rows(
    `select message_id as event_id, code, detail from onceward.note where code not in ('repeated', 'dead', 'quarantined') order by 1`,
  )
const statuses = (scene: Scene) =>
  scene.rows('select message_id as event_id, status::text from onceward.inbox order by 1')

describe('case projection over Kafka', {
  // The killed ones are waited for a session long: side by side.
  concurrency: 4,
  ...(await skipWithout('postgres', 'kafka')),
}, () => {
  it('matches its contract page', () => {
    const page = readFileSync(new URL('CONTRACT.md', import.meta.url), 'utf8')
    const line = (name: string) => new RegExp(`^\\| ${name} \\| (.*) \\|$`, 'm').exec(page)?.[1]
    const source = consumer.source as unknown as { topic: string; group: string }
    assert.equal(line('Name'), consumer.name)
    assert.equal(line('Input topic'), source.topic)
    assert.equal(line('Group id'), source.group)
    assert.equal(line('Owner'), consumer.owner)
    assert.equal(consumer.settle.when, 'after effect')
    assert.ok(line('Poison behaviour')!.includes(consumer.failure.deadLetter!))
  })

  it('applies the versions of a case in order, each event once', async t => {
    const scene = await openScene(t)
    await scene.send(...[1, 2, 3].map(version => caseEvent('a', version)), caseEvent('b', 1))
    await scene.send(caseEvent('a', 2), caseEvent('a', 3), caseEvent('b', 1))
    const running = await scene.run()
    await scene.caughtUp()
    assert.deepEqual(await projection(scene), [
      { case_id: 'a', version: 3, state: 'escalated', event_id: 'a-v3', moves: 3 },
      { case_id: 'b', version: 1, state: 'open', event_id: 'b-v1', moves: 1 },
    ])
    assert.equal(running.consumer!.tally.outcomes.duplicate, 3)
    assert.deepEqual(await notes(scene), [])
  })

  it('ignores an older event after a newer one with a reason, and notes a skipped version', async t => {
    const scene = await openScene(t)
    await scene.send(caseEvent('a', 1), caseEvent('a', 3))
    await scene.run()
    await scene.caughtUp()
    await scene.send(caseEvent('a', 2))
    await scene.caughtUp()
    assert.deepEqual(await projection(scene), [
      { case_id: 'a', version: 3, state: 'escalated', event_id: 'a-v3', moves: 2 },
    ])
    assert.deepEqual(await notes(scene), [
      { event_id: 'a-v2', code: 'stale', detail: 'version 2 arrived after version 3' },
      { event_id: 'a-v3', code: 'gap', detail: 'from version 1 to 3' },
    ])
    assert.deepEqual(await statuses(scene), [
      { event_id: 'a-v1', status: 'applied' },
      { event_id: 'a-v2', status: 'stale' },
      { event_id: 'a-v3', status: 'applied' },
    ])
  })

  it('takes a second event for the same version as a duplicate, or sets it aside when its content differs', async t => {
    const scene = await openScene(t)
    const resent = caseEvent('a', 1, { eventId: 'a-v1-resent' })
    const other = caseEvent('a', 1, { eventId: 'a-v1-other', newState: 'closed' })
    await scene.send(caseEvent('a', 1), resent, other)
    const running = await scene.run()
    await scene.caughtUp()
    assert.equal(running.consumer!.tally.outcomes.duplicate, 1)
    assert.deepEqual(await scene.rows('select state::text, message_id from onceward.held'), [
      { state: 'quarantined', message_id: 'a-v1-other' },
    ])
    assert.deepEqual(await projection(scene), [
      { case_id: 'a', version: 1, state: 'open', event_id: 'a-v1', moves: 1 },
    ])
  })

  it('sends poison to the dead-letter topic with its original metadata, and the partition continues', async t => {
    const scene = await openScene(t)
    await scene.sendBytes('a', '{"eventId": "a-v0", ')
    await scene.send({ ...caseEvent('a', 1), caseVersion: 'first' }, caseEvent('a', 2))
    await scene.run()
    await scene.caughtUp()
    await until('both copies are there', async () => (await scene.deadLetters()).length === 2)
    const [broken, invalid] = await scene.deadLetters()
    assert.deepEqual([broken!.key, broken!.value], ['a', '{"eventId": "a-v0", '])
    assert.match(broken!.headers['onceward-position']!, new RegExp(`^${scene.topic}/\\d@0$`))
    assert.equal(broken!.headers['onceward-code'], 'undecodable')
    assert.equal(invalid!.key, 'a')
    assert.equal(invalid!.headers['trace-id'], 'trace-a-v1')
    assert.equal(invalid!.headers['onceward-origin'], scene.topic)
    assert.match(invalid!.headers['onceward-position']!, new RegExp(`^${scene.topic}/\\d@1$`))
    assert.match(invalid!.headers['onceward-reason']!, /caseVersion/)
    assert.deepEqual(
      (await projection(scene)).map(row => [row.case_id, row.version]),
      [['a', 2]],
    )
  })

  for (const point of ['batch.received', 'batch.applied', 'batch.fenced', 'batch.committed'] as const) {
    it(`loses nothing and repeats nothing when it is killed at ${point}`, async t => {
      const scene = await openScene(t)
      await scene.send(...[1, 2, 3, 4].map(version => caseEvent('a', version)))
      assert.equal(await scene.dies(point), 'SIGKILL')
      const applied = await projection(scene)
      assert.equal(applied.length, point === 'batch.committed' ? 1 : 0)
      await scene.run()
      await scene.caughtUp()
      assert.deepEqual(await projection(scene), [
        { case_id: 'a', version: 4, state: 'closed', event_id: 'a-v4', moves: 4 },
      ])
      assert.deepEqual(await notes(scene), [])
    })
  }

  it('a rebuild from the first record has the same rows', async t => {
    const scene = await openScene(t)
    await scene.send(...sample(25))
    const live = await scene.run()
    await scene.caughtUp()
    await live.drain()
    await scene.run({ mode: 'rebuild', generation: 2 })
    await scene.caughtUp(2)
    assert.equal((await projection(scene)).length, 26)
    const rows = (table: string) => scene.rows(`select * from ${table} order by 1`)
    assert.deepEqual(await rows('case_projection_rebuilt'), await rows('case_projection'))
    const last = await scene.rows(
      'select generation, max(version)::int as version from case_move group by 1, case_id having max(version) <> 4 order by 1, 2',
    )
    assert.deepEqual(last, [
      { generation: 1, version: 3 },
      { generation: 2, version: 3 },
    ])
  })
})
