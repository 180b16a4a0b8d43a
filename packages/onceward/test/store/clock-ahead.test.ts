import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import { ClockSteps } from '../../src/drivers/postgres/clock-steps.ts'
import { freeExpired, takeLease } from '../../src/drivers/postgres/queue/lease.ts'
import { ServerIncarnation } from '../../src/drivers/postgres/server-incarnation.ts'
import { suspectLedger } from '../../src/drivers/postgres/sql/silent-runs.ts'
import { reasonToStop } from '../../src/effects/external/reason-not-to-call.ts'
import { readCampaign } from '../../src/replay/campaign/campaign.ts'
import { CampaignLease } from '../../src/replay/campaign/campaign-lease.ts'
import { realEnvironment } from '../../src/runtime/real-environment.ts'
import { openRig, type Rig } from '../effects/external/rig.ts'
import { type OutboxScene, openOutboxScene } from '../effects/outbox-scene.ts'
import { facts, Scene as ReplayScene } from '../replay/scene.ts'
import { skipWithout } from '../services/services.ts'
import { Scene as InboxScene, type JobContext, write } from '../work/scene.ts'

const nextYear = `clock_timestamp() + interval '1 year'`

describe('rows written while the database clock was a year ahead', await skipWithout('postgres'), () => {
  let outbox: OutboxScene
  let inbox: InboxScene
  let rig: Rig
  before(async () => {
    ;[outbox, inbox, rig] = await Promise.all([openOutboxScene(), InboxScene.open(), openRig()])
  })
  after(() => Promise.all([outbox.close(), inbox.close(), rig.close()]))

  it('relays: the buckets of a crashed relay are taken over', async () => {
    const broker = outbox.nextBroker()
    await outbox.put(broker, 'late', [{ id: 'm-0', key: 'm' }])
    await outbox.pool.query(
      `with dead as (insert into onceward.relay (destination, instance, until) values ($1, 'dead', ${nextYear}) returning id)
       insert into onceward.outbox_bucket (destination, bucket, relay_id) select $1, n, id from dead, generate_series(0, 31) as n`,
      [broker],
    )
    const relay = await outbox.start({ broker })
    await until('it is published', async () => (await outbox.left(broker)) === 0)
    await relay.drain()
  })

  it('queues: a lease from ahead is freed, one of a longer configuration is not', async () => {
    const { rows } = await inbox.pool.query(`insert into onceward.queue (name) values ('ahead') returning id`)
    const queueId = rows[0].id as number
    await takeLease(inbox.pool, queueId, 'longer', 240_000)
    assert.equal(await freeExpired(inbox.pool, queueId, 30_000), 0)
    await inbox.pool.query(`update onceward.queue_lease set until = ${nextYear}`)
    assert.equal(await freeExpired(inbox.pool, queueId, 30_000), 1)
  })

  for (const order of ['none', 'key'] as const) {
    it(`stored work: the lease of a crashed worker is taken over (order: ${order})`, async () => {
      const name = `ahead_${order}`
      const changes = {
        order,
        handle: (context: JobContext) => write(context, name),
      }
      await inbox.store(name, changes, { id: 'a', key: 'k' }, { id: 'b', key: 'k' })
      await inbox.pool.query(
        `update onceward.held set epoch = 1, lease_until = ${nextYear} where message_id = 'a'`,
      )
      const worker = await inbox.start(name, changes, { parts: ['worker'] })
      await until('both are done', async () => (await inbox.held(name)).length === 0)
      await worker.drain()
      assert.deepEqual((await inbox.done(name)).sort(), ['a', 'b'])
    })
  }

  it('campaigns: another process may run the campaign', async t => {
    const scene = await ReplayScene.open(t)
    const consumer = scene.contract()
    await scene.write(...facts(3))
    await scene.live(consumer)
    const id = await scene.planned(await scene.replay(consumer))
    const take = async (instance: string) =>
      CampaignLease.take(scene.pool, await readCampaign(scene.pool, id), {
        instance,
        env: realEnvironment(),
      })
    await take('dead')
    await assert.rejects(take('early'), /it is running by dead/)
    await scene.pool.query(`update onceward.campaign set lease_until = ${nextYear} where id = $1`, [id])
    assert.equal((await readCampaign(scene.pool, id)).held, false)
    await take('heir')
    assert.equal((await readCampaign(scene.pool, id)).holder, 'heir')
  })

  it('runs: one that was last heard from ahead is silent, and a start from ahead makes no run silent', async () => {
    const { pool } = inbox
    const { rows } = await pool.query(`
      with c as (insert into onceward.consumer (name, generation, owner, risk, dedup) values ('beats', 1, 't', 'money', 'marker') returning id)
      insert into onceward.run (consumer_id, instance, handler_version, mode, deliveries_max, started_at, heartbeat_at)
      select c.id, instance, '1', 'live', 1, started, heard from c, (values
        ('me', ${nextYear}, clock_timestamp()), ('live', clock_timestamp() - interval '1 minute', clock_timestamp()),
        ('dead', clock_timestamp() - interval '1 minute', ${nextYear})) as r (instance, started, heard)
      returning id, consumer_id, instance`)
    const idOf = (instance: string) => rows.find(row => row.instance === instance).id as number
    const enrolment = { consumerId: rows[0].consumer_id, runId: idOf('me') } as never
    const silent = await suspectLedger(
      pool,
      new ServerIncarnation(),
      new ClockSteps(pool, realEnvironment().log),
    ).beat(enrolment, 30_000)
    assert.deepEqual(
      silent.map(({ runId }) => runId),
      [idOf('dead')],
    )
  })

  /** Runs a dispatcher on a row in this state, until the row is done or waits for an operator. */
  async function dispatch(left: string) {
    const consumer = rig.nextConsumer()
    const key = `${consumer}-key`
    await rig.scene.intend(consumer, [key])
    await rig.scene.pool.query(`update onceward.ledger set ${left} where consumer_name = $1`, [consumer])
    const dispatcher = await rig.start(consumer)
    await until('it is settled', async () => (await rig.scene.row(consumer, key)).due === 'infinity')
    await dispatcher.drain()
    return { row: await rig.scene.row(consumer, key), calls: rig.gateway.callsFor(key).length }
  }

  it('effects: a delayed call is made', async () => {
    const { row, calls } = await dispatch(`state = 'retryable', attempts = 1, due_at = ${nextYear}`)
    assert.deepEqual([row.state, calls], ['completed', 1])
  })

  for (const since of [nextYear, `clock_timestamp() - interval '1 minute'`]) {
    it(`effects: one in flight, in doubt since ${since}, waits for an operator: its call may still be in progress`, async () => {
      const { row, calls } = await dispatch(
        `state = 'in flight', attempts = 1, epoch = 1, due_at = ${nextYear}, last_attempt_at = ${nextYear}, doubt_since = ${since}`,
      )
      assert.deepEqual([row.state, calls], ['reconciling', 0])
      assert.match(row.last_error!, /database clock was set back/)
    })
  }

  it('effects: a doubt that begins in the future permits no repeated call', () => {
    const target = { policy: 'keyed', doubtMaxMs: 1_000 } as const
    const judged = (doubtMs: number) => reasonToStop({ doubtful: true, doubtMs }, target)
    assert.equal(judged(0), null)
    assert.equal(judged(1_000), null)
    assert.match(judged(1_001)!.note!, /forgotten the key/)
    assert.match(judged(-1)!.note!, /database clock/)
  })
})
