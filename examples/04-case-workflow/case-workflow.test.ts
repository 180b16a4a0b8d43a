import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { until } from 'onceward/testing'
import { skipWithout } from '../../packages/onceward/test/services/services.ts'
import consumer from './case-workflow.ts'
import { caseStep, life, sample } from './produce.ts'
import { openScene, type Scene } from './test/scene.ts'

const cases = (scene: Scene) =>
  scene.rows('select case_id, state, version::int, outcome from case_workflow order by 1')
const trail = (scene: Scene) =>
  scene.rows('select from_state, to_state, actor, message_id from case_transition order by seq')

describe('case workflow', await skipWithout('postgres'), () => {
  it('the diagram in its README matches the declaration', () => {
    const readme = readFileSync(new URL('README.md', import.meta.url), 'utf8')
    assert.ok(readme.includes(`\`\`\`mermaid\n${consumer.effect!.apply!.mermaid!()}\n\`\`\``))
  })

  it('moves a case through its states and leaves an audit trail', async t => {
    const scene = await openScene(t)
    await scene.send(...life('a', 3))
    await scene.run()
    await scene.empty()
    assert.deepEqual(await cases(scene), [{ case_id: 'a', state: 'ESCALATED', version: 3, outcome: null }])
    assert.deepEqual(await trail(scene), [
      { from_state: null, to_state: 'NEW', actor: 'officer.meyer', message_id: 'a-v1' },
      { from_state: 'NEW', to_state: 'UNDER_REVIEW', actor: 'officer.meyer', message_id: 'a-v2' },
      { from_state: 'UNDER_REVIEW', to_state: 'ESCALATED', actor: 'officer.meyer', message_id: 'a-v3' },
    ])
  })

  it('takes a correction as a new fact: the outcome changes, the closure stays in the trail', async t => {
    const scene = await openScene(t)
    await scene.send(...life('a'))
    await scene.run()
    await scene.empty()
    assert.deepEqual(await cases(scene), [{ case_id: 'a', state: 'CLOSED', version: 6, outcome: 'BREACH' }])
    assert.equal((await trail(scene)).length, 6)
  })

  it('reaches the same state when steps arrive twice, under other ids and out of order', async t => {
    const scene = await openScene(t)
    await scene.send(...sample(6).reverse())
    await scene.run()
    await scene.empty()
    assert.deepEqual(
      await cases(scene),
      Array.from({ length: 6 }, (_, n) => ({
        case_id: `case-${n}`,
        state: 'CLOSED',
        version: 6,
        outcome: 'BREACH',
      })),
    )
    assert.equal((await trail(scene)).length, 36)
    assert.deepEqual(await scene.rows('select message_id, state::text, code from onceward.held'), [
      { message_id: 'impossible', state: 'dead', code: 'illegal_transition' },
    ])
  })

  it('parks a step whose case never arrives, with the reason', async t => {
    const scene = await openScene(t)
    await scene.send(caseStep('ghost', 2))
    await scene.run()
    await scene.empty()
    assert.deepEqual(await scene.rows('select message_id, state::text, code from onceward.held'), [
      { message_id: 'ghost-v2', state: 'parked', code: 'missing_aggregate' },
    ])
  })

  for (const point of ['batch.applied', 'batch.committed'] as const) {
    it(`loses nothing and repeats nothing when it is killed at ${point}`, async t => {
      const scene = await openScene(t)
      await scene.send(...life('a'), ...life('b'))
      assert.equal(await scene.dies(point), 'SIGKILL')
      await scene.run()
      await scene.empty()
      assert.deepEqual(
        (await cases(scene)).map(row => [row.case_id, row.state, row.version]),
        [
          ['a', 'CLOSED', 6],
          ['b', 'CLOSED', 6],
        ],
      )
      assert.equal((await trail(scene)).length, 12)
    })
  }

  it('publishes each applied step once, and no other', async t => {
    const scene = await openScene(t)
    await scene.send(...sample(3).reverse())
    await scene.run()
    await scene.empty()
    await until(
      'all are published',
      async () => (await scene.rows('select from onceward.outbox')).length === 0,
    )
    assert.deepEqual(
      await scene.rows(
        `select count(*)::int, count(distinct message_id)::int as ids,
           count(*) filter (where body is null)::int as empty
         from onceward.queue_message`,
      ),
      [{ count: 18, ids: 18, empty: 0 }],
    )
    assert.deepEqual(
      await scene.rows(
        `select convert_from(body, 'utf8')::json->>'from' as from, convert_from(body, 'utf8')::json->>'to' as to
         from onceward.queue_message where key = 'case-0' order by id limit 2`,
      ),
      [
        { from: null, to: 'NEW' },
        { from: 'NEW', to: 'UNDER_REVIEW' },
      ],
    )
  })

  it('alerts once per escalation, under any message id', async t => {
    const scene = await openScene(t)
    const again = caseStep('a', 3, { messageId: 'resent', transitionId: 'resent' })
    await scene.send(...life('a'), again)
    await scene.run()
    await scene.runAlerts()
    await scene.empty()
    await until(
      'the outbox is empty',
      async () => (await scene.rows('select from onceward.outbox')).length === 0,
    )
    await scene.empty('moveQueue')
    assert.deepEqual(await scene.rows('select case_id, correlation_id, causation_id from supervisor_alert'), [
      { case_id: 'a', correlation_id: 'a-v3', causation_id: 'a-v3' },
    ])
  })
})
