import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { park, runConsumer, Verdict } from 'onceward'
import { createPostgresStore } from 'onceward/postgres'
import { until } from 'onceward/testing'
import type { Enrolment } from '../../src/ports/enrolment.ts'
import { cancelCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import { readStatus } from '../../src/telemetry/read-status.ts'
import { replayAll } from '../parking/parked-scene.ts'
import { skipWithout } from '../services/services.ts'
import { type FactContract, Scene } from './scene.ts'

type Changes = Partial<FactContract>

const log = { of: 'log', start: 'first', end: 'next' } as const
const asked = 'select effect_key as key from onceward.ledger order by 1'
const applied = 'select id, mode from effect order by id'

async function startWorker(scene: Scene, changes: Changes = {}) {
  const running = await runConsumer(scene.contract(changes), { databaseUrl: scene.url, parts: ['worker'] })
  return { [Symbol.asyncDispose]: () => running.drain() }
}

/**
 * An approved backfill that asks for effects has set a message aside until an earlier one arrives, and its
 * time is over.
 */
async function waiting(t: Parameters<typeof Scene.open>[0]) {
  const scene = await Scene.open(t)
  await scene.write({ id: 'a' })
  await scene.passed(scene.contract())
  const wait = () => Verdict.wait('too early', { key: 'k', version: 2n, withinMs: 1 })
  const replay = await scene.replay(scene.contract({ handle: wait as never }))
  const id = await scene.planned(replay, { mode: 'backfill', effects: 'requested', selection: log })
  await approve(scene)
  await replay.run(id)
  assert.deepEqual(await scene.rows('select state::text from onceward.held'), [{ state: 'waiting' }])
  return { scene, id }
}

/** By another person; the database's own check of who approves is tested elsewhere. */
async function approve(scene: Scene): Promise<void> {
  await scene.pool.query('alter table onceward.campaign_approval disable trigger all')
  await scene.pool.query(
    `insert into onceward.campaign_approval (campaign_id, plan_digest, requested_by, approved_by, approved_at, expires_at, reason)
     select id, plan_digest, requested_by, 'another', clock_timestamp(), clock_timestamp() + interval '1 hour', 'yes' from onceward.campaign`,
  )
}

const expire = (scene: Scene) =>
  scene.pool.query('update onceward.campaign_approval set expires_at = clock_timestamp()')

/** Live work behind it: once it is done, a worker has looked at everything that is due. */
async function passedBy(scene: Scene): Promise<void> {
  await scene.write({ id: 'later' })
  await scene.live(scene.contract({ inbox: { mode: 'stored' } }))
  await until('a worker was there', async () => (await scene.rows(applied)).some(row => row.id === 'later'))
}

describe('held work of a campaign', await skipWithout('postgres'), () => {
  test('whose approval has expired is not worked on until it is approved again', async t => {
    const { scene, id } = await waiting(t)
    await expire(scene)
    await using _worker = await startWorker(scene)
    await passedBy(scene)
    assert.deepEqual(await scene.rows(asked), [{ key: 'later' }])
    assert.deepEqual(await scene.rows('select state::text from onceward.held'), [{ state: 'waiting' }])
    const { unserved } = await readStatus(scene.pool)
    assert.deepEqual(unserved, [{ consumer: 'facts', generation: 1, campaign: id, waiting: 1 }])
    await approve(scene)
    await until('it is applied', async () => (await scene.rows(applied)).length === 2)
    assert.deepEqual(await scene.rows(asked), [{ key: 'a' }, { key: 'later' }])
  })

  test('that was cancelled is applied, and requests nothing', async t => {
    const { scene, id } = await waiting(t)
    await cancelCampaign(scene.pool, id, 'not needed')
    await using _worker = await startWorker(scene)
    await until('it is applied', async () => (await scene.rows(applied)).length === 1)
    assert.deepEqual(await scene.rows(asked), [])
    assert.deepEqual(await scene.rows('select kind from onceward.suppressed_effect order by 1'), [
      { kind: 'external' },
      { kind: 'publish' },
    ])
  })

  for (const [how, end] of [
    ['expires', expire],
    ['ends with the campaign', (scene: Scene, id: string) => cancelCampaign(scene.pool, id, 'not needed')],
  ] as const)
    test(`whose approval ${how} after the lease loses it in the transaction that would request effects`, async t => {
      const { scene, id } = await waiting(t)
      const store = createPostgresStore({ pool: scene.pool })
      const [ids] = await scene.rows(
        `select consumer_id as "consumerId", run_id as "runId" from onceward.held`,
      )
      const enrolment = { ...ids, facts: { mode: 'live', handlerTimeoutMs: 1_000 } } as unknown as Enrolment
      const request = { countMax: 10, leaseMs: 60_000, ordered: false, after: null }
      const [row] = (await store.work!.lease(enrolment, request)).rows
      assert.equal(row!.cameFrom!.effects, 'requested')
      const confirm = (asks: boolean) =>
        store.transaction(enrolment, session =>
          session.held!.confirmLeases([{ ...row!, headOf: null, asks }]),
        )
      await confirm(true)
      await end(scene, id)
      await assert.rejects(confirm(true), { code: 'lease_lost' })
      await confirm(false)
    })
})

describe('a message that a run in mode replay has parked', await skipWithout('postgres'), () => {
  test('and an operator releases is applied by a live worker, in its mode and beside live work', async t => {
    const scene = await Scene.open(t)
    await scene.write({ id: 'a' })
    const running = await runConsumer(scene.contract({ handle: () => park('not today') }), {
      databaseUrl: scene.url,
      parts: ['consumer'],
      mode: 'replay',
    })
    await running.finished
    await scene.write({ id: 'b' })
    await scene.live(scene.contract({ handle: () => park('not today') }))
    await replayAll(scene, 'facts', 'r')
    await using _worker = await startWorker(scene)
    await until('both are applied', async () => (await scene.rows(applied)).length === 2)
    assert.deepEqual(await scene.rows(applied), [
      { id: 'a', mode: 'replay' },
      { id: 'b', mode: 'live' },
    ])
    assert.deepEqual(await scene.rows(asked), [{ key: 'b' }])
  })
})
