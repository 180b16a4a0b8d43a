import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createPostgresStore } from 'onceward/postgres'
import { acceptLoss, readLosses } from '../../src/operations/losses.ts'
import { verifyAudit } from '../../src/operations/parking/verify-audit.ts'
import { acceptServer, declareServer, readRestore } from '../../src/operations/server/incarnations.ts'
import { People, refusal } from '../parking/people.ts'
import { skipWithout } from '../services/services.ts'
import { lastAct, openPool } from './scene.ts'

type Login = Awaited<ReturnType<People['login']>>
const denied = /^42501/

describe('an act of a person', await skipWithout('postgres'), () => {
  let pool: Awaited<ReturnType<typeof openPool>>
  let people: People
  let ann: Login
  let approver: Login
  let run: Login
  before(async () => {
    pool = await openPool()
    await pool.query('select onceward.create_roles()')
    people = new People(pool, pool.url)
    ann = await people.login(['onceward_operator'], { person: true })
    approver = await people.login(['onceward_approver'], { person: true })
    run = await people.login(['onceward_run'], { person: false })
  })
  after(async () => {
    await people.close()
    await pool.close()
  })

  const declared = async (name: string, next = '9') => {
    const store = createPostgresStore({ pool: run.pool })
    const enrolment = await store.enroll({
      name,
      generation: 1,
      owner: 'tests',
      risk: 'projection',
      mode: 'live',
      handlerVersion: '1',
      instance: 'a test',
      handlerTimeoutMs: 1_000,
      deliveriesMax: 1,
      dedup: 'marker',
      deadLetterTo: null,
    })
    const from = { incarnation: 'life', next: '5' }
    const loss = { partition: 't/0', from, reason: 'retention', records: Number(next) - 5 }
    const declare = (to: string, records: number) =>
      store.checkpoints!.declareLoss(enrolment, { ...loss, to: { incarnation: 'life', next: to }, records })
    await declare(next, loss.records)
    const found = (await readLosses(ann.pool)).find(one => one.consumer === name)!
    return { ...found, declare, store, enrolment }
  }

  it('on a loss is refused without a reason, a name or the loss as it was shown; it happens once, and is audited', async () => {
    const { id, digest, declare, store, enrolment } = await declared('lossy')
    const said = { id, consumer: 'lossy', because: 'rebuilt from the archive', seen: digest }
    for (const update of [
      `update onceward.loss set accepted_at = now(), accepted_reason = 'x'`,
      `update onceward.loss set accepted_by = 'x'`,
    ])
      for (const { pool } of [ann, approver, run]) assert.match(await refusal(pool, update), denied)
    assert.match(
      await refusal(run.pool, `select onceward.accept_loss(${id}, 'lossy', '${digest}', 'x')`),
      denied,
    )
    for (const because of ['', ' ', '\t\n', '\u3000\u200b'])
      await assert.rejects(acceptLoss(ann.pool, { ...said, because }), /Say why/)
    await assert.rejects(
      acceptLoss(ann.pool, { ...said, consumer: 'other' }),
      /not belong to consumer "other"/,
    )
    await assert.rejects(acceptLoss(ann.pool, { ...said, id: 4_711 }), /no declared loss 4711/)

    await declare('20', 15)
    await assert.rejects(
      acceptLoss(ann.pool, said),
      /has changed since it was shown: it now ranges from 5 to 20/,
    )
    assert.deepEqual(await lastAct(pool), {
      actor: ann.name,
      action: 'losses accept',
      outcome: 'refused',
      consumer: 'lossy',
      subject: String(id),
      reason: `Loss ${id} has changed since it was shown: it now ranges from 5 to 20, 15 records.`,
    })
    const { digest: seen } = (await readLosses(ann.pool)).find(loss => loss.id === id)!
    await declare('20', 15)
    const accepted = await acceptLoss(ann.pool, { ...said, seen })
    assert.deepEqual([accepted.state, accepted.acceptedBy], ['accepted', ann.name])
    assert.deepEqual(await lastAct(pool), {
      actor: ann.name,
      action: 'losses accept',
      outcome: 'done',
      consumer: 'lossy',
      subject: String(id),
      reason: said.because,
    })
    await assert.rejects(acceptLoss(ann.pool, { ...said, seen }), /already accepted, by/)
    const [taken] = await store.checkpoints!.take(enrolment, ['t/0'])
    await store.checkpoints!.begin(enrolment, 't/0', taken!.epoch, taken!.resumeAt!)
    await assert.rejects(acceptLoss(ann.pool, { ...said, seen }), /already resumed/)
  })

  it('that stops every consumer has a name and a reason', async () => {
    for (const blank of ['', ' \t', '\u200b'])
      assert.match(await refusal(ann.pool, 'select onceward.record_incarnation($1)', [blank]), /Say why/)
    assert.match(await refusal(approver.pool, `select onceward.record_incarnation('x')`), denied)
    assert.match(
      await refusal(
        ann.pool,
        `insert into onceward.server_incarnation (database_oid, reason) values (1, 'somebody without a name')`,
      ),
      denied,
    )
    await assert.rejects(declareServer(ann.pool, ' '), /Say why/)
    const { open } = await declareServer(ann.pool, 'disk put back to the snapshot of 03:00')
    assert.equal(open!.detectedBy, ann.name)
    const told = {
      actor: ann.name,
      action: 'restore notice',
      outcome: 'done',
      consumer: null,
      subject: open!.id,
      reason: 'disk put back to the snapshot of 03:00',
    }
    assert.deepEqual(await lastAct(pool), told)
    await declareServer(ann.pool, 'once more')
    assert.deepEqual(await lastAct(pool), told, 'what waits already is not written down again')
    await acceptServer(ann.pool, Number(open!.id), 'looked at')
    assert.equal((await readRestore(approver.pool)).open, null)
  })

  it('on a campaign is a function: created, planned, paused, cancelled, finished by no statement', async () => {
    await declared('campaigned')
    for (const statement of [
      `insert into onceward.campaign (consumer_name, generation, live_generation, risk, mode, selection, reason)
       values ('campaigned', 1, 1, '', 'replay', '{}', 'x')`,
      `update onceward.campaign set rate_max = 1`,
      `update onceward.campaign set lease_until = null, holder = 'x'`,
      `insert into onceward.campaign_row (campaign_id, held_id, row_version) values (1, 1, '')`,
      'delete from onceward.campaign_row',
      'delete from onceward.rebuild_key',
    ])
      for (const { pool } of [ann, approver]) assert.match(await refusal(pool, statement), denied, statement)
    const call = async (sql: string) =>
      (await ann.pool.query(`select onceward.${sql} as answer`)).rows[0].answer
    const create = (because: string) =>
      call(`create_campaign('campaigned', 1::smallint, 'replay', 'suppressed', '{}', null, '${because}')`)
    assert.deepEqual(await create(' '), { ok: false, why: 'Say why.' })
    const { id } = await create('a test')
    assert.deepEqual((await lastAct(pool)).action, 'replay created')
    assert.deepEqual(await call(`plan_campaign(${id}, '{"ranges": []}')`), { ok: true })
    const steer = (act: string, consumer = 'campaigned') =>
      call(`steer_campaign(${id}, '${consumer}', '${act}', 'not needed')`)
    assert.match((await steer('pause')).why, /only a running campaign can pause/)
    assert.deepEqual(Object.values(await lastAct(pool)).slice(0, 3), [ann.name, 'replay pause', 'refused'])
    assert.match((await steer('verify')).why, /once it has run to its end/)
    assert.match((await steer('finish')).why, /once it is verified/)
    assert.match((await steer('cancel', 'other')).why, /not belong to consumer "other"/)
    const silent = await call(`steer_campaign(${id}, 'campaigned', 'cancel', ' ')`)
    assert.deepEqual(silent, { ok: false, why: 'Say why.' })
    assert.deepEqual(await steer('cancel'), { ok: true, state: 'cancelled' })
    const { rows } = await pool.query(
      `select detail ->> 'detail' as said from onceward.audit where action = 'replay cancelled'`,
    )
    assert.deepEqual(rows, [{ said: 'not needed' }])
    assert.match((await steer('cancel')).why, /is cancelled/)
    assert.match((await call(`plan_campaign(${id}, '{}')`)).why, /its plan is fixed/)
    assert.deepEqual((await verifyAudit(ann.pool)).problems, [])
  })

  it('that is left open in a transaction ends within a minute, because all other acts wait for it', async () => {
    const client = await ann.pool.connect()
    const idleLimit = async (ownLimit: string) => {
      await client.query('begin')
      await client.query(`set local idle_in_transaction_session_timeout = '${ownLimit}'`)
      await client.query(`select onceward.steer_campaign(0, 'nobody', 'verify')`)
      const { rows } = await client.query('show idle_in_transaction_session_timeout')
      await client.query('rollback')
      return rows[0].idle_in_transaction_session_timeout
    }
    assert.deepEqual(
      [await idleLimit('0'), await idleLimit('1h'), await idleLimit('5s')],
      ['1min', '1min', '5s'],
    )
    client.release()
  })
})
