import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { actingAs, recordRefusal } from '../../src/drivers/postgres/acting-as.ts'
import { classifyParked } from '../../src/operations/parking/classify-parked.ts'
import {
  approveRequest,
  declineRequest,
  listApprovals,
  requestDeletion,
} from '../../src/operations/parking/delete-parked.ts'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import { quarantineParked } from '../../src/operations/parking/quarantine-parked.ts'
import { runRedrive, startRedrive } from '../../src/operations/parking/redrive-parked.ts'
import { listFilters, removeFilter, saveFilter } from '../../src/operations/parking/saved-filters.ts'
import { skipParked } from '../../src/operations/parking/skip-parked.ts'
import { verifyAudit } from '../../src/operations/parking/verify-audit.ts'
import { People } from '../parking/people.ts'
import { skipWithout } from '../services/services.ts'
import { lastAct, openPool } from './scene.ts'

const consumer = 'orders'

describe('acts that a console sends', await skipWithout('postgres'), () => {
  let pool: Awaited<ReturnType<typeof openPool>>
  let people: People
  let desk: Awaited<ReturnType<People['login']>>
  let consumerId: number

  before(async () => {
    pool = await openPool()
    await pool.query('select onceward.create_roles()')
    people = new People(pool, pool.url)
    desk = await people.login(['onceward_console'], { person: false })
    await pool.query(`insert into onceward.person (role_name) values ('ann'), ('bob')`)
    const { rows } = await pool.query(
      `insert into onceward.consumer (name, generation, owner, risk) values ($1, 1, 'tests', 'money') returning id`,
      [consumer],
    )
    consumerId = rows[0].id
    await pool.query(
      `insert into onceward.run (consumer_id, instance, handler_version, mode) values ($1, 'a test', '1', 'live')`,
      [consumerId],
    )
  })
  after(async () => {
    await people.close()
    await pool.close()
  })

  let sent = 0
  /** A message as a process sets it aside: the row, its marker, and its blocked key. */
  const held = async (state: string, key: string | null = null, code = 'wrong') => {
    const id = `m-${++sent}`
    const digest = Buffer.from(`digest of ${id}`)
    const { rows } = await pool.query(
      `insert into onceward.held (consumer_id, run_id, state, message_id, digest, order_key, code, failure_class, origin,
         delivery_count, headers, properties, body)
       values ($1, 1, $2, $3, $4, $5, $6, 'verdict', 'queue q', 1, '{}', '{}', 'a body') returning id::text`,
      [consumerId, state, id, digest, key, code],
    )
    await pool.query(
      `insert into onceward.inbox (consumer_id, run_id, status, message_id, digest) values ($1, 1, $2, $3, $4)`,
      [consumerId, state, id, digest],
    )
    if (key !== null && state === 'parked')
      await pool.query(`select onceward.block_keys($1, array[$2], array[$3::integer])`, [
        consumerId,
        key,
        code === 'behind_parked' ? 1 : 0,
      ])
    return rows[0].id as string
  }
  const selected = async (...ids: readonly string[]) => {
    const { digest } = await previewParked(pool, { ids, consumer, countMax: 100 })
    return { consumer, ids, digest, because: 'a test' }
  }
  const as = (name: string, key?: string, action = 'parked skip') =>
    actingAs(desk.pool, `${name} (via link)`, key === undefined ? undefined : { key, action })
  const statesOf = async (...ids: readonly string[]) =>
    (
      await pool.query('select state::text from onceward.held where id = any ($1) order by id', [ids])
    ).rows.map(row => row.state as string)
  const acts = async (action: string) =>
    Number(
      (
        await pool.query(`select count(*) from onceward.audit where action = $1 and outcome = 'done'`, [
          action,
        ])
      ).rows[0].count,
    )

  describe('for people who are not listed', () => {
    it('are refused by the database, even if the console lists them', async () => {
      const id = await held('parked')
      for (const name of ['mallory', 'ann2', 'ann, bob', '', ' \u200b'])
        for (const act of [
          async () => skipParked(as(name), await selected(id)),
          async () => quarantineParked(as(name), await selected(id)),
          async () => classifyParked(as(name), { consumer, ids: [id], label: 'x' }),
          async () => requestDeletion(as(name), await selected(id), 60),
        ])
          await assert.rejects(act, /is not registered in onceward.person/, `${name} ${act}`)
      assert.deepEqual(await statesOf(id), ['parked'])
    })

    it('nor do they approve, nor decline', async () => {
      const id = await held('parked')
      const request = await requestDeletion(as('ann'), await selected(id), 60)
      await assert.rejects(
        approveRequest(as('mallory'), request.id, request.digest, 'x'),
        /is not registered in onceward.person/,
      )
      assert.deepEqual((await lastAct(pool)).outcome, 'refused')
      await assert.rejects(declineRequest(as('mallory'), request.id, 'x'), /is not registered/)
      await skipParked(as('bob'), await selected(id))
    })

    it('are in the audit when the console says so', async () => {
      await recordRefusal(as('mallory'), { action: 'parked skip', consumer, subject: '1', why: 'not listed' })
      const { actor, outcome } = await lastAct(pool)
      assert.deepEqual([actor, outcome], [`mallory (via link) (via ${desk.name})`, 'refused'])
    })

    it('is one person in every spelling', async () => {
      const id = await held('parked')
      await classifyParked(as(' ANN\u200b'), { consumer, ids: [id], label: 'x' })
      await skipParked(as('ann'), await selected(id))
    })
  })

  describe('under a key', () => {
    it('happen once, and the second has the answer of the first', async () => {
      const id = await held('parked')
      const selection = await selected(id)
      const before = await acts('parked skip')
      const first = as('ann', 'key-once-1')
      assert.deepEqual(await skipParked(first, selection), { ok: true, closed: 1, freed: 0 })
      assert.equal(first.repeated, false)
      const second = as('ann', 'key-once-1')
      assert.deepEqual(await skipParked(second, selection), { ok: true, closed: 1, freed: 0 })
      assert.equal(second.repeated, true)
      assert.equal((await acts('parked skip')) - before, 1)
    })

    it('happen once when both are sent at the same time', async () => {
      const ids = await Promise.all(Array.from({ length: 5 }, () => held('parked')))
      const selection = await selected(...ids)
      const before = await acts('parked skip')
      const pools = Array.from({ length: 3 }, () => as('ann', 'key-together'))
      const answers = await Promise.all(pools.map(one => skipParked(one, selection)))
      assert.deepEqual(
        answers.map(answer => answer.closed),
        [5, 5, 5],
      )
      assert.equal(pools.filter(one => one.repeated).length, 2)
      assert.equal((await acts('parked skip')) - before, 1)
    })

    it('keep a refusal, and are not another act, nor another person', async () => {
      const id = await held('parked')
      const selection = { ...(await selected(id)), digest: '0'.repeat(64) }
      for (let time = 0; time < 2; time++)
        await assert.rejects(skipParked(as('ann', 'key-refused'), selection), /The selection has changed/)
      await assert.rejects(
        quarantineParked(as('ann', 'key-refused', 'parked quarantine'), await selected(id)),
        /The key of this act was used for "parked skip"/,
      )
      assert.deepEqual(await statesOf(id), ['parked'])
      assert.equal((await skipParked(as('bob', 'key-refused'), await selected(id))).closed, 1)
    })

    it('leave nothing behind when the transaction is lost', async () => {
      const id = await held('parked')
      const selection = await selected(id)
      const client = await as('ann', 'key-lost').connect()
      await client.query('begin')
      await client.query(`select onceward.skip_parked($1, $2::bigint[], decode($3, 'hex'), $4) as answer`, [
        consumer,
        selection.ids,
        selection.digest,
        'x',
      ])
      client.release(true)
      const again = as('ann', 'key-lost')
      assert.equal((await skipParked(again, selection)).closed, 1)
      assert.equal(again.repeated, false)
    })

    it('are forgotten after a day', async () => {
      await pool.query(`update onceward.act_key set at = at - interval '25 hours'`)
      const id = await held('parked')
      await skipParked(as('ann', 'key-new-day'), await selected(id))
      const { rows } = await pool.query('select key from onceward.act_key')
      assert.deepEqual(rows, [{ key: 'key-new-day' }])
    })
  })

  describe('that quarantine', () => {
    it('keep the key blocked, with its marker, until the message is skipped', async () => {
      const head = await held('parked', 'k1')
      const behind = await held('parked', 'k1', 'behind_parked')
      assert.equal((await quarantineParked(as('ann'), await selected(head))).quarantined, 1)
      assert.deepEqual(await statesOf(head, behind), ['quarantined', 'parked'])
      const { rows } = await pool.query(
        `select i.status::text from onceward.inbox i join onceward.held h using (message_id) where h.id = $1`,
        [head],
      )
      assert.deepEqual(rows, [{ status: 'quarantined' }])
      const parked = await previewParked(pool, { consumer, states: ['parked'], key: 'k1', countMax: 10 })
      assert.deepEqual(
        parked.rows.map(row => row.id),
        [behind],
      )
      const { freed } = await skipParked(as('ann'), await selected(head))
      assert.equal(freed, 1)
      assert.deepEqual(await statesOf(behind), ['stored'])
    })

    it('still count what waits behind a head, once, and are refused for a dead message with a key', async () => {
      const head = await held('parked', 'k2')
      const behind = await held('parked', 'k2', 'behind_parked')
      const gone = await held('parked', 'k2', 'behind_parked')
      const waiting = async () =>
        (await pool.query(`select waiting from onceward.blocked_key where key = 'k2'`)).rows[0].waiting
      assert.equal(await waiting(), 2)
      await quarantineParked(as('ann'), await selected(gone))
      assert.equal(await waiting(), 2)
      await skipParked(as('ann'), await selected(gone))
      assert.equal(await waiting(), 1)
      const dead = await held('dead', 'k2')
      await assert.rejects(
        quarantineParked(as('ann'), await selected(dead)),
        new RegExp(`row ${dead} is dead`),
      )
      assert.equal((await lastAct(pool)).outcome, 'refused')
      const plain = await held('dead')
      assert.equal((await quarantineParked(as('ann'), await selected(plain))).quarantined, 1)
      await skipParked(as('ann'), await selected(head, behind, dead, plain))
    })

    it('leave a redrive that had selected the message, and one that selects it later moves it', async () => {
      const [first, second] = [await held('parked'), await held('parked')]
      const redrive = { ...(await selected(first, second)), requestId: 'slow', perSecond: null }
      await startRedrive(as('ann'), redrive)
      await quarantineParked(as('bob'), await selected(second))
      const { moved } = await runRedrive(as('ann'), 'slow', { pause: async () => {} })
      assert.equal(moved, 1)
      assert.deepEqual(await statesOf(first, second), ['stored', 'quarantined'])
      await startRedrive(as('ann'), { ...(await selected(second)), requestId: 'later', perSecond: null })
      await runRedrive(as('ann'), 'later', { pause: async () => {} })
      assert.deepEqual(await statesOf(second), ['stored'])
    })

    it('are refused for a selection that has changed, and once when two people ask', async () => {
      const id = await held('parked')
      const selection = await selected(id)
      const both = await Promise.allSettled([
        quarantineParked(as('ann'), selection),
        quarantineParked(as('bob'), selection),
      ])
      assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
      await skipParked(as('ann'), await selected(id))
    })

    it('leave the counts of groups exact', async () => {
      const { rows } = await pool.query(`
        select coalesce(c.state, h.state)::text as state, c.n::int as counted, h.n::int as rows from
          (select state, sum(delta) as n from onceward.parked_count group by 1 having sum(delta) <> 0) c
          full join (select state, count(*) as n from onceward.held where state in ('parked', 'dead', 'quarantined') group by 1) h
          using (state) where c.n is distinct from h.n`)
      assert.deepEqual(rows, [])
    })
  })

  describe('that decline a request', () => {
    it('end it for good, by a second person or by its requester', async () => {
      const id = await held('parked')
      for (const [by, other] of [
        ['bob', 'bob'],
        ['ann', 'bob'],
      ] as const) {
        const request = await requestDeletion(as('ann'), await selected(id), 3_600)
        const declined = await declineRequest(as(by), request.id, 'these are real orders')
        assert.deepEqual(
          [declined.state, declined.declinedBecause, declined.declinedBy],
          ['declined', 'these are real orders', `${by} (via link) (via ${desk.name})`],
        )
        await assert.rejects(
          approveRequest(as(other), request.id, request.digest, 'x'),
          new RegExp(`It was declined, by ${by} `),
        )
        await assert.rejects(declineRequest(as('bob'), request.id, 'x'), /It is already declined/)
      }
      const [last, first] = await listApprovals(pool, { countMax: 2 })
      assert.deepEqual([last!.state, first!.state], ['declined', 'declined'])
      await skipParked(as('ann'), await selected(id))
    })

    it('do not undo an approval; of two at the same time one wins', async () => {
      const id = await held('parked')
      const request = await requestDeletion(as('ann'), await selected(id), 3_600)
      const both = await Promise.allSettled([
        approveRequest(as('bob'), request.id, request.digest, 'right'),
        declineRequest(as('ann'), request.id, 'no'),
      ])
      assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
      const done = await requestDeletion(as('ann'), await selected(id), 3_600)
      await approveRequest(as('bob'), done.id, done.digest, 'right')
      await assert.rejects(declineRequest(as('ann'), done.id, 'no'), /It is already approved, by bob/)
      await skipParked(as('ann'), await selected(id))
    })
  })

  it('save filters for one person, at most 50', async () => {
    for (let n = 0; n < 50; n++) await saveFilter(as('ann'), `filter ${n}`, `code:${n}`)
    await saveFilter(as('ann'), 'filter 1', 'code:new')
    await assert.rejects(saveFilter(as('ann'), 'one more', 'x'), /You have 50 filters/)
    const filters = await listFilters(as('ann'))
    assert.equal(filters.length, 50)
    assert.equal(filters.find(({ name }) => name === 'filter 1')!.query, 'code:new')
    assert.deepEqual(await listFilters(as('bob')), [])
    assert.equal((await removeFilter(as('bob'), 'filter 1')).removed, false)
    assert.equal((await removeFilter(as('ann'), 'filter 1')).removed, true)
  })

  it('leave an intact audit', async () => {
    assert.deepEqual((await verifyAudit(pool)).problems, [])
  })
})
