import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { createPool } from 'onceward/postgres'
import { classifyParked } from '../../src/operations/parking/classify-parked.ts'
import {
  approveRequest,
  deleteParked,
  listApprovals,
  requestDeletion,
} from '../../src/operations/parking/delete-parked.ts'
import { noteStateFixed } from '../../src/operations/parking/fix-parked.ts'
import { previewParked } from '../../src/operations/parking/preview-parked.ts'
import { skipParked } from '../../src/operations/parking/skip-parked.ts'
import { verifyAudit } from '../../src/operations/parking/verify-audit.ts'
import { skipWithout } from '../services/services.ts'
import { Scene } from '../work/scene.ts'
import { direct, failing, settled } from './parked-scene.ts'
import { People, refusal } from './people.ts'

type Login = Awaited<ReturnType<People['login']>>
const denied = /^42501/

describe('a second person', await skipWithout('postgres'), () => {
  let scene: Scene
  let people: People
  let ann: Login
  let bob: Login
  let shared: Login
  let run: Login
  before(async () => {
    scene = await Scene.open()
    await scene.pool.query('select onceward.create_roles()')
    people = new People(scene.pool, scene.url)
    const both = ['onceward_operator', 'onceward_approver']
    ann = await people.login(both, { person: true })
    bob = await people.login(both, { person: true })
    shared = await people.login(both, { person: false })
    run = await people.login(['onceward_run'], { person: false })
  })
  after(async () => {
    await people.close()
    await scene.close()
  })

  const parked = async (name: string) => {
    const bad = new Set(['a', 'b'])
    await scene.publish(name, { id: 'a', part: 'secret' }, { id: 'b', part: 'secret' })
    const running = await scene.start(name, { ...direct, failure: { attemptsMax: 1 }, ...failing(name, bad) })
    await settled(scene, name)
    await running.drain()
    const { rows, digest } = await previewParked(ann.pool, { consumer: name, countMax: 10 })
    return { consumer: name, ids: rows.map(row => row.id), digest, because: 'test data' }
  }
  const lastAudit = async () =>
    (
      await scene.pool.query(
        'select actor, action, outcome, reason from onceward.audit order by seq desc limit 1',
      )
    ).rows[0]

  it('is not asked for a row that was redriven: the deletion is refused, and not recorded as done', async () => {
    const { consumer, ids, because } = await parked('working')
    await scene.pool.query(`update onceward.held set state = 'stored' where id = any ($1::bigint[])`, [ids])
    const { rows } = await scene.pool.query(
      `select encode(onceward.selection_digest($1::bigint[]), 'hex') as digest`,
      [ids],
    )
    const skip = skipParked(ann.pool, { consumer, ids, because, digest: rows[0].digest })
    await assert.rejects(skip, /Already being processed/)
    assert.equal((await lastAudit()).outcome, 'refused')
  })

  it('is required to delete, and may not be the requester', async () => {
    const order = await parked('deleted')
    const request = await requestDeletion(ann.pool, order, 3_600)
    assert.deepEqual([request.requestedBy, request.state, request.rows], [ann.name, 'requested', 2])
    await assert.rejects(
      deleteParked(ann.pool, { id: request.id, consumer: 'deleted' }),
      /has not been approved/,
    )
    await assert.rejects(
      approveRequest(ann.pool, request.id, order.digest, 'looked at it'),
      /The requester cannot approve/,
    )
    assert.deepEqual(await lastAudit(), {
      actor: ann.name,
      action: 'approve',
      outcome: 'refused',
      reason: 'The requester cannot approve.',
    })
    await assert.rejects(
      approveRequest(shared.pool, request.id, order.digest, 'looked at it'),
      /is not registered in onceward.person/,
    )
    await assert.rejects(
      approveRequest(bob.pool, request.id, '0'.repeat(64), 'looked at it'),
      /has changed since the request/,
    )
    await assert.rejects(approveRequest(bob.pool, request.id, order.digest, ' '), /Say why/)
    const approved = await approveRequest(bob.pool, request.id, order.digest, 'looked at it')
    assert.deepEqual(await lastAudit(), {
      actor: bob.name,
      action: 'approve',
      outcome: 'done',
      reason: 'looked at it',
    })
    assert.deepEqual([approved.approvedBy, approved.state], [bob.name, 'approved'])
    await assert.rejects(
      deleteParked(ann.pool, { id: request.id, consumer: 'other' }),
      /not belong to consumer/,
    )
    const done = await deleteParked(ann.pool, { id: request.id, consumer: 'deleted' })
    assert.deepEqual(done, { ok: true, closed: 2, freed: 0 })
    await assert.rejects(deleteParked(ann.pool, { id: request.id, consumer: 'deleted' }), /already done/)
    const { rows } = await scene.pool.query(
      `select message_id, closed_as as how, body, record ? 'body' as record_has_body, length(digest) > 30 as digest from onceward.closed_held
       where held_id = any ($1::bigint[]) order by 1`,
      [order.ids],
    )
    const tombstone = { how: 'deleted', body: null, record_has_body: false, digest: true }
    assert.deepEqual(rows, [
      { message_id: 'a', ...tombstone },
      { message_id: 'b', ...tombstone },
    ])
    assert.deepEqual(await scene.markers('deleted'), ['a ignored', 'b ignored'])
    assert.equal((await lastAudit()).action, 'parked erase')
    const { rows: rights } = await scene.pool.query(
      `select prosecdef, proconfig from pg_proc where oid = 'onceward.delete_parked(bigint, text)'::regprocedure`,
    )
    assert.deepEqual(rights, [{ prosecdef: true, proconfig: ['search_path=pg_catalog, pg_temp'] }])
    assert.equal((await listApprovals(ann.pool, { countMax: 1 }))[0]!.state, 'executed')
  })

  it('approves exactly the request: a changed selection is refused, when approving and when executing', async () => {
    const first = await parked('changed')
    const request = await requestDeletion(ann.pool, first, 3_600)
    await noteStateFixed(ann.pool, { id: first.ids[0]!, consumer: 'changed', because: 'mended' })
    await assert.rejects(
      approveRequest(bob.pool, request.id, first.digest, 'looked at it'),
      /has changed since the request/,
    )
    const { digest } = await previewParked(ann.pool, { consumer: 'changed', countMax: 10 })
    const second = await requestDeletion(ann.pool, { ...first, digest }, 3_600)
    await approveRequest(bob.pool, second.id, digest, 'looked at it')
    await skipParked(ann.pool, {
      ...first,
      ids: first.ids.slice(0, 1),
      digest: (
        await previewParked(ann.pool, { consumer: 'changed', ids: first.ids.slice(0, 1), countMax: 1 })
      ).digest,
    })
    await assert.rejects(
      deleteParked(ann.pool, { id: second.id, consumer: 'changed' }),
      /has changed since it was approved/,
    )
    assert.equal((await previewParked(ann.pool, { consumer: 'changed', countMax: 10 })).rows.length, 1)
  })

  it('approves nothing that has expired, and executes nothing', async () => {
    const order = await parked('expired')
    const late = await requestDeletion(ann.pool, order, 0)
    await assert.rejects(approveRequest(bob.pool, late.id, order.digest, 'looked at it'), /expired/)
    const request = await requestDeletion(ann.pool, order, 3_600)
    await approveRequest(bob.pool, request.id, order.digest, 'looked at it')
    await scene.pool.query('alter table onceward.approval disable trigger step')
    await scene.pool.query(
      `update onceward.approval set expires_at = clock_timestamp() - interval '1 second' where id = $1`,
      [request.id],
    )
    await scene.pool.query('alter table onceward.approval enable trigger step')
    await assert.rejects(deleteParked(ann.pool, { id: request.id, consumer: 'expired' }), /expired/)
    assert.equal((await previewParked(ann.pool, { consumer: 'expired', countMax: 10 })).rows.length, 2)
  })

  it('is a person: a shared role neither requests nor approves', async () => {
    const order = await parked('shared')
    await assert.rejects(requestDeletion(shared.pool, order, 60), /is not registered in onceward.person/)
  })

  it('is not the first one under another login of the same person', async () => {
    const order = await parked('twofold')
    const { url: consoleUrl } = await people.login(['onceward_console'], { person: false })
    const url = new URL(consoleUrl)
    url.searchParams.set('options', `-c onceward.acting_as=${ann.name}`)
    const asAnn = createPool(url.href, { max: 1 })
    const request = await requestDeletion(asAnn, order, 3_600)
    assert.match(request.requestedBy, new RegExp(`^${ann.name} \\(via test_`))
    await assert.rejects(
      approveRequest(ann.pool, request.id, order.digest, 'looked at it'),
      /The requester cannot approve/,
    )
    const second = await requestDeletion(ann.pool, order, 3_600)
    await assert.rejects(
      approveRequest(asAnn, second.id, order.digest, 'looked at it'),
      /The requester cannot approve/,
    )
    await asAnn.end()
    assert.equal((await approveRequest(bob.pool, request.id, order.digest, 'looked at it')).state, 'approved')
  })

  it('cannot be forged by a statement: not the requester, not the approver, not by the owner of the tables', async () => {
    const order = await parked('forged')
    const request = await requestDeletion(ann.pool, order, 3_600)
    const forge = `update onceward.approval set approved_by = '${bob.name}', approved_at = now() where id = ${request.id}`
    for (const { pool } of [ann, bob, shared, run]) assert.match(await refusal(pool, forge), denied)
    assert.match(await refusal(scene.pool, forge), /is not registered in onceward.person/)
    assert.match(
      await refusal(scene.pool, `update onceward.approval set digest = '' where id = ${request.id}`),
      /cannot be changed/,
    )
    assert.match(await refusal(scene.pool, 'delete from onceward.approval'), denied)
    const direct = `insert into onceward.approval (verb, consumer_id, held_ids, digest, reason, requested_by, requested_at, expires_at)
      values ('delete', 1, '{1}', '', 'x', '${bob.name}', now(), now())`
    assert.match(await refusal(ann.pool, direct), denied)
    assert.match(await refusal(ann.pool, `set session authorization ${bob.name}`), denied)
    await ann.pool.query(`set onceward.acting_as = '${bob.name}'`)
    await assert.rejects(
      approveRequest(ann.pool, request.id, order.digest, 'looked at it'),
      /The requester cannot approve/,
    )
  })

  it('cannot change an external effect except by the audited act', async () => {
    const { rows } = await scene.pool.query(
      `insert into onceward.ledger (consumer_name, target, effect_key, state, due_at, run_id, message_id, request_digest, content_type, body)
       select 'paid', 'gateway', state, state::onceward.effect_state, 'infinity', 1, 'm', '', 'text/plain', ''
       from unnest(array['unknown', 'completed']) as state order by 1 desc returning id`,
    )
    const [unknown, completed] = rows.map(row => row.id as string)
    for (const { pool } of [ann, bob]) {
      assert.match(
        await refusal(pool, `update onceward.ledger set state = 'pending', due_at = now()`),
        denied,
      )
      assert.match(await refusal(pool, 'insert into onceward.ledger_action (ledger_id) values (1)'), denied)
    }
    const act = async (id: string | undefined, because: string) =>
      (
        await ann.pool.query(
          `select onceward.act_on_effect($1, 'paid', 0, 'retry', null, $2) ->> 'ok' = 'true' as done`,
          [id, because],
        )
      ).rows[0].done
    assert.equal(await act(completed, 'once more'), false)
    assert.equal(await act(unknown, ' '), false)
    const entry = { actor: ann.name, action: 'ledger retry' }
    assert.deepEqual(await lastAudit(), { ...entry, outcome: 'refused', reason: 'Say why.' })
    assert.equal(await act(unknown, 'asked the bank'), true)
    assert.deepEqual(await lastAudit(), { ...entry, outcome: 'done', reason: 'asked the bank' })
    assert.equal(await act(unknown, 'asked the bank'), false)
    assert.deepEqual(await lastAudit(), {
      ...entry,
      outcome: 'refused',
      reason: `Effect ${unknown} has changed since it was shown.`,
    })
  })

  it('cannot bypass the functions: operators have no rights on the tables, the run role none on people and audit', async () => {
    const order = await parked('rights')
    for (const verb of ['update', 'delete'] as const) {
      const sql =
        verb === 'update' ? `update onceward.held set state = 'stored'` : 'delete from onceward.held'
      assert.match(await refusal(ann.pool, sql), denied)
    }
    for (const sql of [
      `select onceward.skip_parked('rights', array[${order.ids}]::bigint[], '', 'x')`,
      `select onceward.approve(1, '', 'x')`,
      `select onceward.audit_entry('x', 'done', null, null, '')`,
      `insert into onceward.person (role_name) values ('${run.name}')`,
      `update onceward.audit_head set seq = 0`,
      `delete from onceward.audit`,
      `insert into onceward.audit (seq, at, actor, action, outcome, reason, detail, previous, hash) values (1, now(), 'x', 'x', 'done', '', '{}', '', '')`,
    ])
      assert.match(await refusal(run.pool, sql), denied, sql)
    assert.match(await refusal(ann.pool, `select onceward.close_rows(1, '{1}', 'deleted', 'x')`), denied)
    assert.match(await refusal(ann.pool, `select onceward.audit_entry('x', 'done', null, null, '')`), denied)
    await classifyParked(ann.pool, { consumer: 'rights', ids: order.ids, label: 'x' })
    assert.equal((await lastAudit()).actor, ann.name)
    assert.deepEqual((await verifyAudit(ann.pool)).problems, [])
  })
})
