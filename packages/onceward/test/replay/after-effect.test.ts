import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { audit, type Consumer, defineConsumer, type SqlTransaction } from 'onceward'
import { verifyCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import { skipWithout } from '../services/services.ts'
import { Scene } from './scene.ts'

interface Booking {
  readonly id: string
  readonly event: string
}
type Bookings = Consumer<Booking, SqlTransaction>

const booking = (n: number): Booking => ({ id: `m${n}`, event: `e${n}` })
const log = { of: 'log', start: 'first', end: 'next' } as const

/** An audit trail that is followed by a row, a message and a call; three entries are applied. */
async function open(t: TestContext): Promise<{ scene: Scene; consumer: Bookings; calls: string[] }> {
  const calls: string[] = []
  const scene = await Scene.open(t)
  await scene.pool.query(
    `create table trail (event_id text collate "C" primary key, digest bytea not null, consumer text not null,
       message_id text not null, recorded_at timestamptz not null default now(), event text)`,
  )
  const consumer: Bookings = defineConsumer<Booking, SqlTransaction>({
    name: 'bookings',
    owner: 'tests',
    risk: 'projection',
    source: scene.contract().source,
    identity: { id: message => message.id },
    effect: {
      external: { gateway: { kind: 'http', url: 'https://gateway.example/book', policy: 'keyed' } },
      publish: { out: { broker: 'postgres', queue: 'out' } },
      apply: audit<Booking>({
        table: 'trail',
        eventId: message => message.event,
        columns: { event: message => message.event },
        async after({ result, tx, effects, mode, envelope }) {
          calls.push(`${mode} ${result.eventId}`)
          effects.evidence('seen by', envelope.replay)
          await tx.query('insert into effect (id, mode) values ($1, $2)', [result.eventId, mode])
          effects.publish('out', { body: result })
          effects.external('gateway', { key: result.eventId, body: result })
        },
      }),
    },
    replay: {
      modes: ['replay', 'backfill', 'repair', 'forensic', 'rebuild'],
      tables: ['trail', 'effect'],
      compare: { trail: { columns: ['event_id', 'event'] }, effect: { columns: ['id'] } },
    },
  })
  await scene.write(...([booking(1), booking(2), booking(3)] as never[]))
  await scene.live(consumer as never)
  return { scene, consumer, calls }
}

async function ran(scene: Scene, consumer: Bookings, mode: 'replay' | 'forensic' | 'rebuild') {
  const replay = await scene.replay(consumer as never)
  const id = await scene.planned(replay, { selection: log, mode })
  await replay.run(id)
  return { id, outcomes: await scene.outcomes(id) }
}

const requested = (scene: Scene) =>
  scene.rows(`select (select count(*)::int from onceward.outbox) + (select count(*)::int from onceward.queue_message) as published,
    (select count(*)::int from onceward.ledger) as called`)
const suppressed = (scene: Scene, id: string) =>
  scene.rows(
    'select kind, count(*)::int as n from onceward.suppressed_effect where campaign_id = $1 group by 1 order by 1',
    id,
  )
const effects = (scene: Scene) => scene.rows('select id, mode, times from effect order by 1')

describe('after a declared effect, in campaigns', await skipWithout('postgres'), () => {
  test('replay: it is called only for missing messages; its message and call are suppressed', async t => {
    const { scene, consumer } = await open(t)
    await scene.pool.query(`delete from trail where event_id = 'e2'`)
    await scene.pool.query(`delete from effect where id = 'e2'`)
    await scene.pool.query(`delete from onceward.inbox where message_id = 'm2'`)
    const before = await requested(scene)
    const { id, outcomes } = await ran(scene, consumer, 'replay')
    assert.deepEqual(outcomes, { applied: 1, duplicate: 2 })
    assert.deepEqual(await effects(scene), [
      { id: 'e1', mode: 'live', times: 1 },
      { id: 'e2', mode: 'replay', times: 1 },
      { id: 'e3', mode: 'live', times: 1 },
    ])
    assert.deepEqual(await requested(scene), before)
    assert.deepEqual(
      await scene.rows(
        `select message_id, detail from onceward.note where code = 'evidence seen by' order by at, 1`,
      ),
      [
        { message_id: 'm1', detail: 'null' },
        { message_id: 'm2', detail: 'null' },
        { message_id: 'm3', detail: 'null' },
      ],
    )
    await scene.pool.query(
      `delete from trail; delete from effect; delete from onceward.inbox; delete from onceward.note`,
    )
    const again = await ran(scene, consumer, 'replay')
    assert.deepEqual(
      await scene.rows(`select distinct detail from onceward.note where code = 'evidence seen by'`),
      [{ detail: JSON.stringify({ mode: 'replay', campaign: again.id }) }],
    )
    assert.deepEqual(await suppressed(scene, id), [
      { kind: 'external', n: 1 },
      { kind: 'publish', n: 1 },
    ])
  })

  test('rebuild: what is written beside the effect goes to the new tables', async t => {
    const { scene, consumer } = await open(t)
    const before = await effects(scene)
    const { id, outcomes } = await ran(scene, consumer, 'rebuild')
    assert.deepEqual(outcomes, { applied: 3 })
    assert.deepEqual(await effects(scene), before)
    assert.equal((await verifyCampaign(scene.pool, id)).complete, true)
    assert.deepEqual(await suppressed(scene, id), [
      { kind: 'external', n: 3 },
      { kind: 'publish', n: 3 },
    ])
  })

  test('forensic: it is called, and everything it wrote is rolled back', async t => {
    const { scene, consumer, calls } = await open(t)
    await scene.pool.query('delete from trail')
    await scene.pool.query('delete from effect')
    await scene.pool.query('delete from onceward.inbox')
    const { outcomes } = await ran(scene, consumer, 'forensic')
    assert.deepEqual(outcomes, { applied: 3 })
    assert.deepEqual(calls.slice(3), ['forensic e1', 'forensic e2', 'forensic e3'])
    assert.deepEqual(await effects(scene), [])
  })
})
