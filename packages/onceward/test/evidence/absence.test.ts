import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { explain } from '../../src/evidence/explain.ts'
import { purgeConsumer } from '../../src/operations/retention/purge-consumer.ts'
import { purgeOptions } from '../retention/scene.ts'
import { skipWithout } from '../services/services.ts'
import { type Evidence, openEvidence } from './evidence-scene.ts'

const day = 86_400_000

/** A UUID of version 7 made so long ago. */
function idOfAge(days: number): string {
  const hex = Math.floor(Date.now() - days * day)
    .toString(16)
    .padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7abc-8abc-0123456789ab`
}

describe('an id without a marker', await skipWithout('postgres'), () => {
  let scene: Evidence
  const [old, fresh, unknown] = [idOfAge(40), idOfAge(1), 'plain-id']
  before(async () => {
    scene = await openEvidence()
    await scene.send(
      'payment_capture',
      { id: old, order: 'o-1', amount: 1 },
      { id: 'stays', order: 'o-2', amount: 1 },
    )
    const running = await scene.start()
    await scene.settled('payment_capture')
    await running.drain()
    const { pool } = scene
    for (const text of [
      `update onceward.inbox set at = clock_timestamp() - interval '40 days' where message_id = $1`,
      `update onceward.ledger set created_at = clock_timestamp() - interval '40 days' where message_id = $1`,
      `update onceward.note set at = clock_timestamp() - interval '40 days' where message_id = $1`,
      `update onceward.business_key set at = clock_timestamp() - interval '40 days' where message_id = $1`,
    ])
      await pool.query(text, [old])
    const { rows } = await pool.query('select id from onceward.consumer')
    const purged = await purgeConsumer(purgeOptions({ pool, consumerId: rows[0].id }))
    assert.equal(purged.removed.markers, 1)
  })
  after(() => scene.close())

  // Midnight may pass between the purge and the look.
  const days = [0, 1].map(ago => new Date(Date.now() - ago * day).toISOString().slice(0, 10))

  it('was purged on a known day, when the id contains its time', async () => {
    const { stories, absences } = await explain(scene.pool, { by: 'message', id: old })
    assert.deepEqual([stories.length, absences[0]!.verdict], [0, 'purged or never arrived'])
    const { text } = absences[0]!
    assert.ok(
      days.some(today => text.startsWith(`It was purged on ${today}, if it arrived at the time in its id`)),
      text,
    )
    assert.match(text, /Markers written before .* are removed \(1 so far, last at .*\)/)
  })

  it('was purged, when another row proves that it arrived', async () => {
    const { stories } = await explain(scene.pool, { by: 'row', table: 'payment', key: old })
    assert.ok(stories[0]!.timeline.some(entry => entry.what === 'external effect requested'))
    assert.equal(stories[0]!.messageId, old)
    const last = stories[0]!.timeline.at(-1)!
    assert.equal(last.what, 'marker purged')
    assert.match(stories[0]!.summary, /its marker was purged/)
    const byEffect = await explain(scene.pool, { by: 'effect', key: `capture:${old}`, target: null })
    assert.ok(byEffect.stories[0]!.timeline.some(entry => entry.what === 'external effect requested'))
  })

  it('never arrived, when its marker would still exist', async () => {
    const { absences } = await explain(scene.pool, { by: 'message', id: fresh })
    assert.deepEqual([absences[0]!.verdict, absences.length], ['never arrived', 1])
    assert.match(absences[0]!.text, /It may still be at the broker/)
  })

  it('cannot be distinguished when the time of the message is unknown', async () => {
    const { exit, absences } = await scene.json('explain', '--message', unknown)
    assert.deepEqual([exit, absences[0].verdict], [1, 'purged or never arrived'])
    const key = await explain(scene.pool, { by: 'business key', key: 'o-9' })
    assert.equal(key.absences[0]!.verdict, 'purged or never arrived')
  })

  it('states nothing about what a lost copy of the database may have had', async () => {
    await scene.pool.query(`insert into onceward.server_incarnation (database_oid, reason, complete_until, accepted_at, accepted_by, accepted_reason)
      values (1, 'promoted', '2026-01-02 03:04:05Z', clock_timestamp(), 'somebody', 'failover')`)
    const { absences } = await explain(scene.pool, { by: 'message', id: fresh })
    await scene.pool.query('delete from onceward.server_incarnation where database_oid = 1')
    assert.match(absences[0]!.text, /changed its incarnation .*2026-01-02T03:04:05\.000Z/)
  })

  it('finds a business key by a message that was set aside with it, and reports that keys without an effect are not kept', async () => {
    await scene.pool.query(`insert into onceward.held (consumer_id, run_id, state, message_id, digest, business_key, origin, delivery_count, headers, properties, body)
      select consumer_id, id, 'dead', 'died', '', 'o-dead', 'here', 1, '{}', '{}', '' from onceward.run`)
    const { stories } = await explain(scene.pool, { by: 'business key', key: 'o-dead' })
    assert.deepEqual(
      stories.map(({ messageId }) => messageId),
      ['died'],
    )
    const { limits } = await explain(scene.pool, { by: 'business key', key: 'o-none' })
    assert.match(limits.join(), /without an effect released its business key/)
  })

  it('does not affect other rows', async () => {
    const { stories } = await explain(scene.pool, { by: 'message', id: 'stays' })
    assert.match(stories[0]!.summary, /is applied/)
  })
})
