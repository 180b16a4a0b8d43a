import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createPool, postgresQueue } from 'onceward/postgres'
import { createTestEnvironment, until } from 'onceward/testing'
import { verifyAudit } from '../../src/operations/parking/verify-audit.ts'
import type { Selection } from '../../src/replay/campaign/selection.ts'
import {
  approveCampaign,
  cancelCampaign,
  finishCampaign,
  pauseCampaign,
  verifyCampaign,
} from '../../src/replay/campaign/steer-campaign.ts'
import { Throttle } from '../../src/replay/campaign/throttle.ts'
import { postgresUrl, skipWithout } from '../services/services.ts'
import { facts, Scene } from './scene.ts'

/** Another person's own connection, gone with the test. */
async function colleague(scene: Scene, t: { after(work: () => Promise<void>): void }) {
  const name = `colleague_${Math.random().toString(36).slice(2)}`
  const admin = createPool(await postgresUrl(), { max: 1 })
  await admin.query(`create role ${name} login superuser password 'secret'`)
  await scene.pool.query('insert into onceward.person (role_name) values ($1)', [name])
  const url = new URL(scene.url)
  url.username = name
  url.password = 'secret'
  const pool = createPool(url.href, { max: 2 })
  t.after(async () => {
    await pool.end()
    await admin.query(`drop role ${name}`)
    await admin.end()
  })
  return { name, pool }
}

describe('the database enforces the rules of campaigns', await skipWithout('postgres'), () => {
  test('an unreadable selection is refused at creation, and nothing is recorded', async t => {
    const scene = await Scene.open(t)
    const ask = async (consumer: Parameters<Scene['replay']>[0], selection: Selection) =>
      (await scene.replay(consumer)).create({ mode: 'replay', selection, reason: 'a look' })
    const whole = { of: 'log', start: 'first', end: 'next' } as const
    const reader = scene.contract({})
    const queued = scene.contract({ source: postgresQueue('facts') })
    await assert.rejects(ask(reader, { of: 'file', path: `${scene.path}.gone` }), /there is no file .*gone/)
    await assert.rejects(ask(reader, { of: 'file', path: `${scene.path}.*` }), /no file is named/)
    await assert.rejects(ask(queued, whole), /reads from postgres, which keeps no history/)
    assert.deepEqual(await scene.rows('select id from onceward.campaign'), [])
    await scene.write(...facts(1))
    await ask(queued, { of: 'file', path: scene.path })
  })

  test('money needs the approval of another person, for exactly this plan, in time', async t => {
    const scene = await Scene.open(t)
    const other = await colleague(scene, t)
    const consumer = scene.contract({ risk: 'money' })
    await scene.write(...facts(20))
    await scene.passed(consumer)
    const replay = await scene.replay(consumer)
    const id = await scene.planned(replay)
    await assert.rejects(replay.run(id), /needs an unexpired approval .* by a person other/)
    const digestOf = async () =>
      (
        await scene.rows<{ digest: string }>(
          `select encode(plan_digest, 'hex') as digest from onceward.campaign where id = $1`,
          id,
        )
      )[0]!.digest
    const planDigest = await digestOf()
    const approval = { because: 'looked at it', planDigest }
    await assert.rejects(approveCampaign(scene.pool, id, approval), /another person has to approve/)
    await scene.pool.query('delete from onceward.person where role_name = $1', [other.name])
    await assert.rejects(approveCampaign(other.pool, id, approval), /is not registered in onceward.person/)
    await scene.pool.query('insert into onceward.person (role_name) values ($1)', [other.name])
    await assert.rejects(
      scene.pool.query(
        `insert into onceward.campaign_approval (campaign_id, plan_digest, requested_by, approved_by, approved_at, expires_at, reason)
         select id, plan_digest, 'nobody', 'somebody', clock_timestamp(), clock_timestamp() + interval '1 hour', 'forged' from onceward.campaign`,
      ),
      { constraint: 'approver_is_not_requester' },
    )
    await scene.write(...facts(1, 'later'))
    await replay.preview(id)
    assert.notEqual(await digestOf(), planDigest)
    await assert.rejects(approveCampaign(other.pool, id, approval), /is not the approved one/)
    const approved = await approveCampaign(other.pool, id, { ...approval, planDigest: await digestOf() })
    assert.equal(approved.approvedBy, other.name)
    await assert.rejects(
      scene.pool.query('update onceward.campaign_approval set reason = $1', ['other']),
      /cannot be changed or withdrawn/,
    )
    await scene.write(...facts(1, 'later still'))
    await scene.passed(consumer)
    await replay.preview(id)
    await assert.rejects(replay.run(id), /of exactly this plan/)
    await approveCampaign(other.pool, id, { ...approval, planDigest: await digestOf() })
    assert.equal((await replay.run(id)).state, 'ran')
    const acts = await scene.rows<{ act: string }>(
      `select action || ' ' || outcome as act from onceward.audit where subject = $1 and action <> 'replay planned' order by seq`,
      id,
    )
    assert.deepEqual(
      acts.map(one => one.act),
      [
        'replay created done',
        'replay previewed done',
        'replay approve refused',
        'replay approve refused',
        'replay approve refused',
        'replay approved done',
        'replay approved done',
        'replay running done',
        'replay ran done',
      ],
    )
    assert.deepEqual((await verifyAudit(scene.pool)).problems, [])
  })

  test("an approval covers no other ranges, added rows or digest of the requester's own making", async t => {
    const scene = await Scene.open(t)
    const other = await colleague(scene, t)
    await scene.write(...facts(20))
    await scene.passed(scene.contract({ risk: 'money' }))
    await scene.pool.query(`update onceward.checkpoint set next = '999999'`)
    const replay = await scene.replay(scene.contract({ risk: 'money' }))
    const id = await scene.planned(replay)
    const [plan] = (await scene.rows(
      `select encode(plan_digest, 'hex') as digest, plan -> 'ranges' as ranges from onceward.campaign`,
    )) as [{ digest: string; ranges: object[] }]
    await approveCampaign(other.pool, id, { because: 'looked at it', planDigest: plan.digest })
    const further = JSON.stringify(plan.ranges.map(range => ({ ...range, to: '999999' })))
    await assert.rejects(
      scene.pool.query(
        `update onceward.campaign set plan = plan || jsonb_build_object('catchUp', $1::jsonb)`,
        [further],
      ),
      /only a rebuild that has run/,
    )
    const mine = await scene.pool.connect()
    await mine.query(`create schema mine; set search_path = mine, pg_catalog;
      create function mine.sha256(bytea) returns bytea immutable language sql return decode('${plan.digest}', 'hex')`)
    await mine.query(`update onceward.campaign set plan = plan || jsonb_build_object('ranges', $1::jsonb)`, [
      further,
    ])
    await mine.query('reset search_path')
    mine.release()
    await assert.rejects(replay.run(id), /of exactly this plan/)
  })

  test('the plan of a rebuild that has run changes only by what it follows', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(5))
    const replay = await scene.replay(scene.contract())
    const id = await scene.planned(replay, { mode: 'rebuild' })
    await replay.run(id)
    await assert.rejects(
      scene.pool.query(`update onceward.campaign set plan = plan || '{"tables": ["public.other"]}'`),
      /its plan is fixed/,
    )
  })

  test('a request of a shared role cannot be approved', async t => {
    const scene = await Scene.open(t)
    const other = await colleague(scene, t)
    await scene.pool.query('delete from onceward.person where role_name = session_user')
    await scene.write(...facts(2))
    const id = await scene.planned(await scene.replay(scene.contract({ risk: 'money' })))
    const [{ digest }] = (await scene.rows(
      `select encode(plan_digest, 'hex') as digest from onceward.campaign where id = $1`,
      id,
    )) as [{ digest: string }]
    await assert.rejects(
      approveCampaign(other.pool, id, { because: 'fine', planDigest: digest }),
      /requested by .* is not registered in onceward.person/,
    )
  })

  test('an expired approval is not valid', async t => {
    const scene = await Scene.open(t)
    const other = await colleague(scene, t)
    await scene.write(...facts(5))
    await scene.passed(scene.contract({ risk: 'regulatory' }))
    const replay = await scene.replay(scene.contract({ risk: 'regulatory' }))
    const id = await scene.planned(replay)
    await other.pool.query(
      `insert into onceward.campaign_approval (campaign_id, plan_digest, requested_by, approved_by, approved_at, expires_at, reason)
       select id, plan_digest, '', '', clock_timestamp(), clock_timestamp() + interval '100 milliseconds', 'short' from onceward.campaign`,
    )
    await until('it has expired', async () => {
      const [row] = await scene.rows<{ over: boolean }>(
        'select expires_at < clock_timestamp() as over from onceward.campaign_approval',
      )
      return row!.over
    })
    await assert.rejects(replay.run(id), /needs an unexpired approval/)
  })

  for (const left of ['paused', 'running, its process dead'])
    test(`a campaign that outlived its approval while it was ${left}, is approved again, also by the same person`, async t => {
      const scene = await Scene.open(t)
      const other = await colleague(scene, t)
      await scene.write(...facts(5))
      await scene.passed(scene.contract({ risk: 'money' }))
      const replay = await scene.replay(scene.contract({ risk: 'money' }))
      const id = await scene.planned(replay)
      const [{ digest }] = (await scene.rows(
        `select encode(plan_digest, 'hex') as digest from onceward.campaign where id = $1`,
        id,
      )) as [{ digest: string }]
      const approval = { because: 'looked at it', planDigest: digest }
      await approveCampaign(other.pool, id, { ...approval, hours: 0.0001 })
      await scene.pool.query(
        `update onceward.campaign set state = 'running', lease_until = clock_timestamp()`,
      )
      if (left === 'paused') await scene.pool.query(`update onceward.campaign set state = 'paused'`)
      await until('the approval has expired', async () => {
        const [row] = await scene.rows<{ over: boolean }>(
          'select expires_at < clock_timestamp() as over from onceward.campaign_approval',
        )
        return row!.over
      })
      await assert.rejects(replay.run(id), /needs an unexpired approval/)
      await approveCampaign(other.pool, id, approval)
      assert.equal((await replay.run(id)).state, 'ran')
      await finishCampaign(scene.pool, (await verifyCampaign(scene.pool, id)).progress.campaign.id)
      await assert.rejects(approveCampaign(other.pool, id, approval), /no campaign .* waits to run/)
    })

  test('the requester, the request, a running plan and the order of steps cannot be changed', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(5))
    await scene.passed(scene.contract())
    const replay = await scene.replay(scene.contract())
    const id = await scene.planned(replay)
    const change = (what: string) => scene.pool.query(`update onceward.campaign set ${what} where id = ${id}`)
    for (const what of [
      `requested_by = 'somebody'`,
      `mode = 'forensic'`,
      `needs_approval = false, effects = 'requested'`,
      `selection = '{}'`,
    ])
      await assert.rejects(change(what), /cannot be changed after its request/)
    await assert.rejects(change(`state = 'finished'`), /cannot become finished/)
    await replay.run(id)
    await assert.rejects(change(`plan = '{}'`), /its plan is fixed/)
    await assert.rejects(finishCampaign(scene.pool, id), /once it is verified/)
    const { complete } = await verifyCampaign(scene.pool, id)
    assert.equal(complete, true)
    assert.equal((await finishCampaign(scene.pool, id)).state, 'finished')
    await assert.rejects(cancelCampaign(scene.pool, id, 'not needed'), /is finished/)
    const events = await scene.rows<{ did: string; actor: string }>(
      'select action as did, actor from onceward.campaign_event order by id',
    )
    assert.deepEqual(
      events.map(one => one.did),
      ['created', 'previewed', 'running', 'ran', 'verified', 'finished'],
    )
    const [{ me }] = (await scene.rows<{ me: string }>('select session_user as me')) as [{ me: string }]
    assert.ok(events.every(one => one.actor === me))
  })

  test('a mode that the contract does not allow is refused at creation', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(5))
    const log = { of: 'log', start: 'first', end: 'next' } as const
    const plain = await scene.replay(scene.contract({ replay: {} }))
    await assert.rejects(
      plain.create({ mode: 'backfill', selection: log, reason: 'x' }),
      /allows replay, repair, forensic/,
    )
    await assert.rejects(plain.create({ mode: 'repair', selection: log, reason: 'x' }), /a repair needs keys/)
    await assert.rejects(
      plain.create({ mode: 'replay', selection: { ...log, keys: ['a'] }, reason: 'x' }),
      /leave messages out/,
    )
    await assert.rejects(plain.create({ mode: 'replay', selection: log, reason: ' ' }), /give a reason/)
    await assert.rejects(
      plain.create({ mode: 'replay', selection: log, reason: 'x', effects: 'requested' }),
      /backfill and repair only/,
    )
    const silent = await scene.replay(scene.contract({ replay: { modes: ['backfill'], effects: 'never' } }))
    await assert.rejects(
      silent.create({ mode: 'backfill', selection: log, reason: 'x', effects: 'requested' }),
      /replay\.effects 'never'/,
    )
    const forgetful = await scene.replay(
      scene.contract({
        dedup: 'checkpoint',
        order: 'partition',
        effect: {},
        replay: { modes: ['forensic'] },
      }),
    )
    await assert.rejects(forgetful.create({ mode: 'replay', selection: log, reason: 'x' }), /allows forensic/)
  })

  test('two operators: one runs it, the other gets an error that names the first', async t => {
    const scene = await Scene.open(t)
    const consumer = scene.contract()
    await scene.write(...facts(300))
    await scene.passed(consumer)
    const [one, two] = [
      await scene.replay(consumer, { instance: 'one' }),
      await scene.replay(consumer, { instance: 'two' }),
    ]
    const id = await scene.planned(one)
    const ended = await Promise.allSettled([one.run(id), two.run(id)])
    assert.deepEqual(ended.map(end => end.status).sort(), ['fulfilled', 'rejected'])
    const { reason } = ended.find(end => end.status === 'rejected') as PromiseRejectedResult
    assert.match(String(reason), /cannot be run/)
    assert.deepEqual(await scene.outcomes(id), { applied: 300 })
    assert.deepEqual(await scene.rows('select max(times) as most from effect'), [{ most: 1 }])
  })

  test('paused by another person it keeps its position, and continues from there', async t => {
    const scene = await Scene.open(t)
    const consumer = scene.contract()
    await scene.write(...facts(200))
    await scene.passed(consumer)
    const replay = await scene.replay(consumer)
    const id = await scene.planned(replay, { rateMax: 10 })
    const running = replay.run(id)
    await until('it has begun', async () => (await scene.applied('replay')).length > 0)
    await pauseCampaign(scene.pool, id, 'not needed')
    assert.equal((await running).state, 'paused')
    const before = (await scene.applied('replay')).length
    assert.ok(before < 200, 'it had ended before it could pause')
    await assert.rejects(pauseCampaign(scene.pool, id, 'not needed'), /only a running campaign can pause/)
    await scene.pool.query('update onceward.campaign set rate_max = null')
    assert.equal((await replay.run(id)).state, 'ran')
    assert.deepEqual(await scene.outcomes(id), { applied: 200 })
  })
})

test('a throttle lets through no more than its rate', async () => {
  const env = createTestEnvironment()
  const throttle = new Throttle(100, env)
  const passed: number[] = []
  const flow = (async () => {
    for (let page = 0; page < 8; page++) {
      await throttle.pass(throttle.countMax)
      passed.push(env.clock.nowMs())
    }
  })()
  const began = env.clock.nowMs()
  await until('all have passed', async () => {
    await env.advance(50)
    return passed.length === 8
  })
  await flow
  assert.deepEqual(
    passed.map(at => Math.round((at - began) / 250)),
    [0, 1, 2, 3, 4, 5, 6, 7],
  )
})
