import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { describe, type TestContext, test } from 'node:test'
import { audit, type Consumer, defineConsumer, type SqlTransaction } from 'onceward'
import { verifyCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import { skipWithout } from '../services/services.ts'
import { Scene } from './scene.ts'

interface Booking {
  readonly id: string
  readonly event: string
  readonly amount: string
}
type Bookings = Consumer<Booking, SqlTransaction>

const booking = (n: number, amount = '10'): Booking => ({ id: `m${n}`, event: `e${n}`, amount })

/** A consumer whose effect is an audit trail, and three entries of it. */
async function open(t: TestContext): Promise<{ scene: Scene; consumer: Bookings }> {
  const scene = await Scene.open(t)
  await scene.pool.query(
    `create table trail (event_id text collate "C" primary key, digest bytea not null, consumer text not null,
       message_id text not null, recorded_at timestamptz not null default now(), amount text)`,
  )
  const consumer: Bookings = defineConsumer<Booking, SqlTransaction>({
    name: 'bookings',
    owner: 'tests',
    risk: 'projection',
    source: scene.contract().source,
    identity: { id: message => message.id },
    effect: {
      apply: audit<Booking>({
        table: 'trail',
        eventId: message => message.event,
        columns: { amount: message => message.amount },
      }),
    },
    replay: { modes: ['replay', 'backfill', 'repair', 'forensic', 'rebuild'], tables: ['trail'] },
  })
  await write(scene, booking(1), booking(2), booking(3))
  await scene.live(consumer as never)
  return { scene, consumer }
}

const write = (scene: Scene, ...all: readonly Booking[]) => scene.write(...(all as never[]))
const trail = (scene: Scene) =>
  scene.rows('select event_id, consumer, message_id, amount, recorded_at::text as at from trail order by 1')
const log = { of: 'log', start: 'first', end: 'next' } as const

async function ran(scene: Scene, consumer: Bookings, request: object) {
  const replay = await scene.replay(consumer as never)
  const id = await scene.planned(replay, { selection: log, ...request })
  await replay.run(id)
  return { replay, id, outcomes: await scene.outcomes(id) }
}

describe('an audit trail in campaigns', await skipWithout('postgres'), () => {
  for (const mode of ['replay', 'backfill'] as const)
    test(`${mode}: an entry stays as it was recorded, with its marker and without it`, async t => {
      const { scene, consumer } = await open(t)
      const before = await trail(scene)
      assert.equal(before.length, 3)
      assert.deepEqual((await ran(scene, consumer, { mode })).outcomes, { duplicate: 3 })
      await scene.pool.query('delete from onceward.inbox')
      assert.deepEqual((await ran(scene, consumer, { mode })).outcomes, { duplicate: 3 })
      assert.deepEqual(await trail(scene), before)
    })

  test('a missing entry is recorded once, under the name of the consumer and the message', async t => {
    const { scene, consumer } = await open(t)
    const before = await trail(scene)
    await scene.pool.query(`delete from trail where event_id = 'e2'`)
    await scene.pool.query(`delete from onceward.inbox where message_id = 'm2'`)
    const keys = { ...log, keys: ['m2'] }
    for (const outcome of ['applied', 'duplicate'])
      assert.deepEqual((await ran(scene, consumer, { mode: 'repair', selection: keys })).outcomes, {
        [outcome]: 1,
      })
    const after = await trail(scene)
    const { at: _, ...entry } = after[1]!
    assert.deepEqual(entry, { event_id: 'e2', consumer: 'bookings', message_id: 'm2', amount: '10' })
    assert.deepEqual([after[0], after[2]], [before[0], before[2]])
  })

  test('forensic records nothing, and finds missing and different entries', async t => {
    const { scene, consumer } = await open(t)
    await scene.pool.query(`delete from trail where event_id = 'e2'`)
    await scene.pool.query('delete from onceward.inbox')
    await scene.pool.query(`update trail set digest = sha256('other') where event_id = 'e3'`)
    const before = await trail(scene)
    const { outcomes } = await ran(scene, consumer, { mode: 'forensic' })
    assert.deepEqual(outcomes, { applied: 1, duplicate: 1, quarantined: 1 })
    assert.deepEqual(await trail(scene), before)
    assert.deepEqual(await scene.rows('select from onceward.held'), [])
  })

  test('a file with an entry under another message id, and with other content, changes none', async t => {
    const { scene, consumer } = await open(t)
    const before = await trail(scene)
    const path = `${scene.path}.other`
    const others = [
      { ...booking(1), id: 'again' },
      { ...booking(2, '99'), id: 'forged' },
    ]
    await writeFile(path, others.map(one => JSON.stringify(one)).join('\n'))
    const { outcomes } = await ran(scene, consumer, { mode: 'replay', selection: { of: 'file', path } })
    assert.deepEqual(outcomes, { duplicate: 1, quarantined: 1 })
    assert.deepEqual(await trail(scene), before)
  })

  test('rebuilt entries would have another time of recording: the swap is refused, and live stays', async t => {
    const { scene, consumer } = await open(t)
    const before = await trail(scene)
    const { replay, id, outcomes } = await ran(scene, consumer, { mode: 'rebuild' })
    assert.deepEqual(outcomes, { applied: 3 })
    assert.deepEqual(await trail(scene), before)
    await verifyCampaign(scene.pool, id)
    await assert.rejects(replay.swap(id), /recorded_at/)
    assert.deepEqual(await trail(scene), before)
  })
})
