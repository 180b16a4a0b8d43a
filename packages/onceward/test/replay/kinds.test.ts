import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ignore, park } from 'onceward'
import { campaignFindings } from '../../src/replay/campaign/steer-campaign.ts'
import { skipWithout } from '../services/services.ts'
import { type FactContract, factContract, facts, Scene } from './scene.ts'

describe('modes of campaigns', await skipWithout('postgres'), () => {
  test('forensic changes nothing and lists what is missing, conflicting and unreadable', async t => {
    const scene = await Scene.open(t)
    const consumer = scene.contract()
    await scene.write(...facts(60))
    await scene.live(consumer)
    await scene.pool.query(`delete from onceward.inbox where message_id = 'f00007'`)
    await scene.pool.query(`delete from effect where id = 'f00007'`)
    await scene.pool.query(`update onceward.inbox set digest = '\\x00' where message_id = 'f00009'`)
    const { appendFile } = await import('node:fs/promises')
    await appendFile(scene.path, 'no json\n')
    const state = async () =>
      scene.rows(`select (select jsonb_agg(to_jsonb(e) order by id) from effect e) as effects,
        (select jsonb_agg(to_jsonb(i) order by message_id) from onceward.inbox i) as markers, (select count(*)::int from onceward.held) as held,
        (select count(*)::int from onceward.outbox) as outbox, (select count(*)::int from onceward.ledger) as ledger,
        (select count(*)::int from onceward.attempt) as attempts`)
    const before = await state()
    const replay = await scene.replay(consumer)
    const id = await scene.planned(replay, { mode: 'forensic' })
    assert.equal((await replay.run(id)).state, 'ran')
    assert.deepEqual(await state(), before)
    assert.deepEqual(await scene.outcomes(id), { applied: 1, duplicate: 58, quarantined: 2 })
    const findings = await campaignFindings(scene.pool, id, 10)
    assert.deepEqual(
      findings.map(one => [one.messageId.replace(/.*@/, '@'), one.outcome, one.code]).sort(),
      [
        [
          findings.find(one => one.code === 'undecodable')!.messageId.replace(/.*@/, '@'),
          'quarantined',
          'undecodable',
        ],
        ['f00007', 'applied', ''],
        ['f00009', 'quarantined', 'conflict'],
      ].sort(),
    )
  })

  test('a forensic look at a handler that fails ends, and counts no attempt', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(20))
    const consumer = scene.contract({
      handle({ message }) {
        if (message.id === 'f00005') throw new Error('no such luck')
      },
    })
    const replay = await scene.replay(consumer)
    const id = await scene.planned(replay, { mode: 'forensic' })
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { applied: 19, parked: 1 })
    assert.deepEqual(await scene.rows('select from onceward.attempt union all select from onceward.held'), [])
  })

  test('a repair looks again at what was ignored, of the selected keys only', async t => {
    const scene = await Scene.open(t)
    await scene.write(
      { id: 'a1', key: 'a' },
      { id: 'a2', key: 'a' },
      { id: 'b1', key: 'b' },
      { id: 'b2', key: 'b' },
    )
    const usual = scene.contract().handle!
    const careless = scene.contract({
      handle: context => (context.message.id.endsWith('2') ? ignore('a mistake') : usual(context)),
    })
    await scene.live(careless)
    const replay = await scene.replay(scene.contract())
    const id = await scene.planned(replay, {
      mode: 'repair',
      selection: { of: 'log', start: 'first', end: 'next', keys: ['a'] },
    })
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { applied: 1, duplicate: 1 })
    assert.deepEqual(await scene.rows('select id, times, mode from effect order by id'), [
      { id: 'a1', times: 1, mode: 'live' },
      { id: 'a2', times: 1, mode: 'repair' },
      { id: 'b1', times: 1, mode: 'live' },
    ])
  })

  test('an approved backfill requests its effects, another only records them as suppressed', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(10))
    const consumer = scene.contract()
    await scene.passed(consumer)
    const replay = await scene.replay(consumer)
    const silent = await scene.planned(replay, { mode: 'backfill' })
    await replay.run(silent)
    assert.deepEqual(await scene.rows('select count(*)::int as n from onceward.ledger'), [{ n: 0 }])
    assert.deepEqual(await scene.rows('select count(*)::int as n from onceward.suppressed_effect'), [
      { n: 20 },
    ])
    await scene.pool.query('delete from onceward.inbox')
    const loud = await scene.planned(replay, { mode: 'backfill', effects: 'requested' })
    await assert.rejects(replay.run(loud), /needs an unexpired approval/)
    await scene.pool.query(`alter table onceward.campaign_approval disable trigger all`)
    await scene.pool.query(
      `insert into onceward.campaign_approval select id, plan_digest, requested_by, 'another', now(), now() + interval '1 hour', 'yes'
       from onceward.campaign where id = $1`,
      [loud],
    )
    await replay.run(loud)
    assert.deepEqual(await scene.rows('select count(*)::int as n from onceward.ledger'), [{ n: 10 }])
    assert.deepEqual(await scene.rows('select count(*)::int as n from onceward.outbox'), [{ n: 10 }])
  })

  test('history from another file is the same history', async t => {
    const scene = await Scene.open(t)
    const consumer = scene.contract()
    await scene.write(...facts(30))
    await scene.live(consumer)
    const archive = `${scene.path}.archive`
    const { writeFile } = await import('node:fs/promises')
    await writeFile(archive, [...facts(40)].map(one => JSON.stringify(one)).join('\n'))
    const replay = await scene.replay(consumer)
    const id = await scene.planned(replay, {
      selection: { of: 'file', path: archive, neverLive: true },
    })
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { applied: 10, duplicate: 30 })
  })

  test('held messages can be examined, and stay unchanged', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(10))
    const parking = scene.contract({
      handle: ({ message }) => (message.id < 'f00003' ? park('not today') : undefined),
    })
    await scene.live(parking)
    const replay = await scene.replay(scene.contract())
    const selection = { of: 'held', states: ['parked'] } as const
    await assert.rejects(replay.create({ mode: 'replay', selection, reason: 'x' }), /onceward parked/)
    const id = await scene.planned(replay, { mode: 'forensic', selection })
    await replay.run(id)
    assert.deepEqual(await scene.outcomes(id), { 'already held': 3 })
  })

  test('history that retention overtakes while it is read is not applied again', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(30))
    await scene.live(scene.contract())
    await scene.pool.query(
      `delete from onceward.inbox where message_id = 'f00000'; delete from effect where id = 'f00000'`,
    )
    // The first message is missing, and while it is applied retention removes the marker of another.
    const handle: FactContract['handle'] = async context => {
      await scene.pool.query(
        `with gone as (delete from onceward.inbox where message_id = 'f00020' returning consumer_id)
         insert into onceward.horizon (consumer_id, purged_before, purged_count) select consumer_id, now(), 1 from gone`,
      )
      await factContract('').handle!(context)
    }
    const replay = await scene.replay(scene.contract({ handle, batch: { sizeMax: 10, inFlightMax: 1 } }))
    const id = await scene.planned(replay)
    await assert.rejects(replay.run(id), {
      code: 'behind_horizon',
      message: /whether message f00020 was applied/,
    })
    assert.deepEqual(await scene.outcomes(id), { applied: 1, duplicate: 19 })
    assert.deepEqual(await scene.rows('select count(*)::int, max(times) from effect'), [
      { count: 30, max: 1 },
    ])
  })

  test('history before the horizon is refused, with the unprotected keys', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(10))
    const consumer = scene.contract()
    await scene.live(consumer)
    const replay = await scene.replay(consumer)
    const id = await scene.planned(replay)
    await scene.pool.query(
      `insert into onceward.horizon (consumer_id, purged_before, purged_count) select id, now(), 77 from onceward.consumer`,
    )
    await assert.rejects(
      replay.run(id),
      /facts \(generation 1\) is protected only from .*77 markers were removed.*jsonl 0 to/,
    )
    await assert.rejects(replay.preview(id), { code: 'behind_horizon' })
    assert.equal((await replay.run(await scene.planned(replay, { mode: 'forensic' }))).state, 'ran')
  })
})
