import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ConsumerProcess, realEnvironment } from 'onceward'
import { MemoryLog } from 'onceward/memory'
import { createPostgresStore } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { skipWithout } from '../services/services.ts'
import { type CaseFact, caseOptions, fact, ProjectionScene } from './projection-scene.ts'

const byVersion = { dedup: 'version' as const }

describe("a projection under dedup 'version'", await skipWithout('postgres'), () => {
  let scene: ProjectionScene
  before(async () => {
    scene = await ProjectionScene.open()
  })
  after(() => scene.close())

  it('writes no marker, and still recognises applied messages', async () => {
    const table = await scene.table('plain')
    const facts = [fact('a', 1), fact('a', 2), fact('b', 1)]
    const first = await scene.drive('plain', caseOptions(table), [facts], byVersion)
    assert.deepEqual(first.outcomes, { applied: 3 })
    const again = await scene.drive('plain', caseOptions(table), [facts], byVersion)
    assert.deepEqual(again.outcomes, { stale: 1, duplicate: 2 })
    assert.deepEqual(await scene.rows(table), ['a 2 s2 a-v2', 'b 1 s1 b-v1'])
    assert.deepEqual(await scene.markers('plain'), [])
    assert.deepEqual(await scene.notes('plain'), [])
  })

  it('takes the same message twice in a batch as one fact', async () => {
    const table = await scene.table('twice')
    const { outcomes } = await scene.drive(
      'twice',
      caseOptions(table),
      [[fact('a', 1), fact('a', 1)]],
      byVersion,
    )
    assert.deepEqual(outcomes, { applied: 1, duplicate: 1 })
  })

  it('finds other content under the same version where a digest column is declared, and only there', async () => {
    for (const digest of [undefined, 'content']) {
      const table = await scene.table(`content_${digest ?? 'none'}`)
      const options = caseOptions(table, { columns: { state: 'state' }, ...(digest && { digest }) })
      const { outcomes } = await scene.drive(
        table,
        options,
        [[fact('a', 1)], [fact('a', 1, { state: 'other' })]],
        byVersion,
      )
      assert.deepEqual(outcomes, digest ? { applied: 1, quarantined: 1 } : { applied: 1, duplicate: 1 })
      assert.deepEqual(await scene.rows(table), ['a 1 s1'])
    }
  })

  it('keeps a key stopped although nothing marks its messages', async () => {
    const table = await scene.table('stopped')
    const options = caseOptions(table, { gap: 'fail fast' })
    await scene.drive('stopped', options, [[fact('a', 2)], [fact('a', 1)], [fact('a', 2)]], byVersion)
    assert.deepEqual(await scene.rows(table), [])
    assert.deepEqual(await scene.held('stopped'), ['a-v1 parked behind_parked', 'a-v2 quarantined gap'])
  })

  it('on a log writes nothing once another process owns the partition', async () => {
    const table = await scene.table('fenced')
    const log = new MemoryLog({ partitions: 1 })
    const refused: string[] = []
    const consumer = scene.contract('fenced', caseOptions(table), { ...byVersion, order: 'partition' })
    const postgres = createPostgresStore({ pool: scene.pool })
    const store: typeof postgres = {
      ...postgres,
      transaction: (enrolment, work) =>
        postgres.transaction(enrolment, work).catch(error => {
          refused.push(error.code)
          throw error
        }),
    }
    const env = realEnvironment()
    const one = new ConsumerProcess({ consumer, source: log, store, env, instance: 'unit' })
    await one.start()
    const publish = (...facts: CaseFact[]) =>
      log.publish(...facts.map(body => ({ body: JSON.stringify(body) })))
    publish(fact('a', 1))
    await until('the first is applied', () => one.tally.outcomes.applied === 1)
    await scene.pool.query('update onceward.checkpoint set epoch = epoch + 1')
    publish(fact('a', 2))
    await until('the fence refused', () => refused.includes('ownership_lost'))
    assert.deepEqual(await scene.rows(table), ['a 1 s1 a-v1'])
    await one.drain()
    assert.deepEqual(await scene.rows(table), ['a 1 s1 a-v1'])
  })

  it('dead-letters what cannot be read', async () => {
    const table = await scene.table('unreadable')
    const broken = { caseId: 'a', version: 1 } as never
    const { outcomes } = await scene.drive(
      'unreadable',
      caseOptions(table),
      [[broken, fact('a', 1)]],
      byVersion,
    )
    assert.deepEqual(outcomes, { quarantined: 1, applied: 1 })
  })
})
