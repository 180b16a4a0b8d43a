import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { verifyAudit } from '../../src/operations/parking/verify-audit.ts'
import { People, refusal } from '../parking/people.ts'
import { until } from '../postgres-source/queue-under-test.ts'
import { skipWithout } from '../services/services.ts'
import { lastAct, openPool } from './scene.ts'

type Login = Awaited<ReturnType<People['login']>>
type Answer = { ok: boolean; why?: string; id?: string; approval?: string }
const denied = /^42501/
interface Told {
  on(event: 'notice', listener: (notice: { readonly message?: string }) => void): void
  query(text: string): Promise<unknown>
  release(): void
}
/** Blanks of other alphabets, and characters that nobody sees. */
const unseen = ['', ' \t', '\u00a0\u2007', '\u200b\u200e', '\u00ad\u3164', '\u2800\u{13430}\u{e0020}']

describe('a person with psql', await skipWithout('postgres'), () => {
  let pool: Awaited<ReturnType<typeof openPool>>
  let people: People
  let ann: Login
  let bob: Login
  let run: Login
  before(async () => {
    pool = await openPool()
    await pool.query('select onceward.create_roles()')
    people = new People(pool, pool.url)
    ann = await people.login(['onceward_operator', 'onceward_approver'], { person: true })
    bob = await people.login(['onceward_operator', 'onceward_approver'], { person: true })
    run = await people.login(['onceward_run'], { person: false })
    await pool.query(`insert into onceward.consumer (name, generation, owner, risk) values
        ('pay', 1, 'tests', 'money'), ('plain', 1, 'tests', 'telemetry');
      insert into onceward.run (consumer_id, instance, handler_version, mode) values (1, 'a test', '1', 'live')`)
  })
  after(async () => {
    assert.deepEqual((await verifyAudit(pool)).problems, [])
    await people.close()
    await pool.close()
  })

  const call = async (who: Login, text: string, values: unknown[] = []): Promise<Answer> =>
    (await who.pool.query(`select onceward.${text} as answer`, values)).rows[0].answer
  let numbers = 0
  const held = async (state: string): Promise<string> =>
    (
      await pool.query(
        `insert into onceward.held (consumer_id, run_id, state, message_id, digest, due_at, origin, delivery_count, headers, properties, body)
         values (2, 1, $1, $2, sha256(convert_to($2, 'UTF8')), case when $1 = 'stored'::onceward.held_state then clock_timestamp() end, 'q', 1, '{}', '{}', 'b') returning id`,
        [state, `m${numbers++}`],
      )
    ).rows[0].id
  const effect = async (): Promise<string> =>
    (
      await pool.query(
        `insert into onceward.ledger (consumer_name, target, effect_key, state, due_at, run_id, message_id, request_digest, content_type, body)
         values ('pay', 'bank', $1, 'unknown', 'infinity', 1, 'm', '', 'text/plain', '') returning id`,
        [`e${numbers++}`],
      )
    ).rows[0].id

  it('must give a readable reason in every act', async () => {
    const row = await held('dead')
    const paid = await effect()
    const digest = `onceward.selection_digest(array[${row}])`
    const { id } = await call(
      ann,
      `create_campaign('plain', 1::smallint, 'replay', 'suppressed', '{}', null, 'x')`,
    )
    await call(ann, `plan_campaign(${id}, '{"ranges": []}')`)
    const plan = `(select plan_digest from onceward.campaign where id = ${id})`
    for (const act of [
      `skip_parked('plain', array[${row}], ${digest}, $1)`,
      `request_deletion('plain', array[${row}], ${digest}, $1, 60)`,
      `redrive_start('blank', 'plain', array[${row}], ${digest}, null, $1)`,
      `redrive_stop('blank', $1)`,
      `release_held('plain', ${row}, 0, $1)`,
      `act_on_effect(${paid}, 'pay', 0, 'retry', null, $1)`,
      `separate_reader('plain', 'pay', $1)`,
      `accept_broker('kafka', 'a cluster', $1)`,
      `rename_consumer('plain', 'other', $1)`,
      `create_campaign('plain', 1::smallint, 'replay', 'suppressed', '{}', null, $1)`,
    ])
      for (const because of unseen) assert.match((await call(ann, act, [because])).why!, /^Say why/, act)
    for (const because of unseen)
      assert.match(
        (await call(bob, `approve_campaign(${id}, ${plan}, $1, 1)`, [because])).why!,
        /a reason is required/,
      )
    assert.match(
      await refusal(
        run.pool,
        `insert into onceward.campaign (consumer_name, generation, live_generation, risk, mode, selection, reason)
         values ('plain', 1, 1, '', 'replay', '{}', U&'\\200b')`,
      ),
      /a reason is required/,
    )
    const { rows } = await pool.query(
      `select proname from pg_proc where pronamespace = 'onceward'::regnamespace and prosrc like '%btrim(because)%'`,
    )
    assert.deepEqual(rows, [], 'one function judges reasons')
  })

  it('must give every argument', async () => {
    await call(ann, `record_incarnation('a copy was taken')`)
    assert.match(
      (await call(ann, `accept_incarnation(null, 'x')`)).why!,
      /waits to be accepted. Review that one first/,
    )
    const [one, other, third] = [await held('dead'), await held('parked'), await held('stored')]
    const { approval } = await call(
      ann,
      `request_deletion('plain', array[${one}], onceward.selection_digest(array[${one}]), 'x', 60)`,
    )
    await call(bob, `approve(${approval}, onceward.selection_digest(array[${one}]), 'looked at it')`)
    assert.match((await call(ann, `delete_parked(${approval}, null)`)).why!, /not belong to consumer/)
    assert.match((await call(ann, `release_held(null, ${other}, 0, 'x')`)).why!, /not belong to consumer/)
    assert.match(
      (await call(ann, `release_held('plain', ${third}, null, 'x')`)).why!,
      /has changed since it was shown/,
    )
    assert.match(
      (await call(ann, `act_on_effect(${await effect()}, null, 0, 'retry', null, 'x')`)).why!,
      /not belong to/,
    )
  })

  it('cannot approve a plan of their own, even if another person requested it', async () => {
    const { id } = await call(
      ann,
      `create_campaign('pay', 1::smallint, 'replay', 'requested', '{}', null, 'asked')`,
    )
    const planned = (who: Login, to: number) =>
      call(who, `plan_campaign(${id}, '{"ranges": [{"partition": "t/0", "from": "1", "to": "${to}"}]}')`)
    const approve = (who: Login) =>
      call(
        who,
        `approve_campaign(${id}, (select plan_digest from onceward.campaign where id = ${id}), 'looked', 1)`,
      )
    await planned(ann, 2)
    await planned(bob, 1_000_000)
    assert.match((await approve(bob)).why!, /who therefore cannot approve it/)
    assert.deepEqual([(await lastAct(pool)).actor, (await lastAct(pool)).outcome], [bob.name, 'refused'])
    await planned(ann, 2)
    await planned(bob, 2)
    assert.deepEqual(await approve(bob), { ok: true }, 'the plan that stands already is not made anew')
    await run.pool.query(`update onceward.campaign set state = 'running' where id = ${id}`)
  })

  it('can plan only the request: its keys and its rows', async () => {
    const create = async (selection: string) =>
      (
        await call(ann, `create_campaign('pay', 1::smallint, 'repair', 'suppressed', $1, null, 'asked')`, [
          selection,
        ])
      ).id
    const keyed = await create('{"of": "log", "keys": ["k1"]}')
    for (const plan of [
      '{"ranges": []}',
      '{"ranges": [], "keys": null}',
      '{"ranges": [], "keys": ["k1", "k2"]}',
    ])
      assert.match(
        (await call(ann, 'plan_campaign($1, $2)', [keyed, plan])).why!,
        /does not match the requested keys/,
      )
    assert.equal((await call(ann, 'plan_campaign($1, null)', [keyed])).ok, false)
    assert.deepEqual(await call(ann, 'plan_campaign($1, $2)', [keyed, '{"ranges": [], "keys": ["k1"]}']), {
      ok: true,
    })
    const parked = await create('{"of": "parked"}')
    for (const plan of ['{"ranges": []}', '{"parked": {"digest": "00"}}'])
      assert.match(
        (await call(ann, 'plan_campaign($1, $2)', [parked, plan])).why!,
        /does not match the selected rows/,
      )
  })

  it('is the same person as a member of the console', async t => {
    const cyn = await people.login(['onceward_operator', 'onceward_approver', 'onceward_console'], {
      person: true,
    })
    const again = await cyn.pool.connect()
    t.after(() => again.release())
    await again.query(`set onceward.acting_as = 'somebody else'`)
    assert.equal((await again.query('select onceward.actor() as name')).rows[0].name, cyn.name)
    for (const mark of ['\u0890', '\u{110cd}', '\u{13437}'])
      assert.equal(
        (await pool.query('select onceward.same_person($1, $2) as same', ['ann', `an${mark}n`])).rows[0].same,
        true,
      )
  })

  it('cannot end a lease that was not shown', async () => {
    const row = await held('stored')
    await pool.query('update onceward.held set epoch = 4 where id = $1', [row])
    assert.match(
      (await call(ann, `release_held('plain', ${row}, 3, 'stuck')`)).why!,
      /it has now been leased 4 times/,
    )
    assert.equal((await call(ann, `release_held('plain', ${row}, 4, 'stuck')`)).ok, true)
  })

  it('leaves every refusal on an effect in the audit', async () => {
    const id = await effect()
    for (const [args, why] of [
      [`'other', 0, 'retry', null`, /not belong to consumer "other"/],
      [`'pay', 7, 'retry', null`, /has changed since it was shown/],
      [`'pay', 0, 'retry', 'completed'`, /retried, or reconciled/],
      [`'pay', 0, 'reconcile', 'pending'`, /retried, or reconciled/],
      [`'pay', 0, null, null`, /retried, or reconciled/],
    ] as const) {
      assert.match((await call(ann, `act_on_effect(${id}, ${args}, 'x')`)).why!, why)
      const { actor, outcome, consumer, subject } = await lastAct(pool)
      assert.deepEqual([actor, outcome, consumer, subject], [ann.name, 'refused', 'pay', id])
    }
    assert.match(
      (await call(ann, `act_on_effect(4711, 'pay', 0, 'retry', null, 'x')`)).why!,
      /no effect 4711/,
    )
  })

  it("can roll a refusal back, but the server's log has it", async t => {
    const client = (await ann.pool.connect()) as unknown as Told
    t.after(() => client.release())
    const told: string[] = []
    client.on('notice', notice => told.push(notice.message ?? ''))
    await client.query(`set client_min_messages = log; begin`)
    await client.query(`select onceward.approve(4711, '', 'looked at it')`)
    await client.query('rollback; reset client_min_messages')
    assert.deepEqual(told, [`onceward refused ${ann.name} "approve" on - 4711: There is no such request.`])
  })

  it('can continue a stopped redrive only by its own name, with a reason', async () => {
    const row = await held('dead')
    const digest = `onceward.selection_digest(array[${row}])`
    const start = (consumer: string, because: string) =>
      call(ann, `redrive_start('again', '${consumer}', array[${row}], ${digest}, 1, $1)`, [because])
    assert.equal((await start('plain', 'x')).ok, true)
    await call(ann, `redrive_stop('again', 'wait')`)
    assert.match((await start('plain', ' ')).why!, /Say why/)
    assert.match((await start('pay', 'x')).why!, /used for another selection/)
    assert.equal((await start('plain', 'go on')).ok, true)
  })

  it('acts on the current rows, not on an older snapshot', async t => {
    await pool.query(`insert into onceward.checkpoint (consumer_id, partition, epoch, run_id, incarnation, next, at)
        values (1, 't/0', 1, 1, 'life', '5', now() - interval '1 hour');
      insert into onceward.loss (consumer_id, partition, from_incarnation, from_position, to_incarnation, to_position, records, reason, declared_by_run)
        values (1, 't/0', 'life', '5', 'life', '9', 4, 'retention', 1)`)
    const accept = `select onceward.accept_loss(g.id, 'pay', onceward.loss_digest(g), 'x') as answer from onceward.loss g`
    const client = await ann.pool.connect()
    t.after(() => client.release())
    await client.query('begin isolation level repeatable read; select from onceward.loss')
    await pool.query('update onceward.checkpoint set epoch = 2, at = clock_timestamp()')
    await assert.rejects(client.query(accept), /read committed/)
    await client.query('rollback; begin isolation level serializable')
    await assert.rejects(
      client.query(`select onceward.rename_consumer('plain', 'other', 'x')`),
      /read committed/,
    )
    await client.query('rollback')

    await pool.query(`update onceward.checkpoint set at = now() - interval '1 hour'`)
    const taker = await pool.connect()
    t.after(() => taker.release())
    await taker.query('begin; update onceward.checkpoint set epoch = 3, at = clock_timestamp()')
    const waits = client.query(accept)
    await until(async () => {
      const { rows } = await pool.query(
        `select from pg_stat_activity where usename = $1 and wait_event_type = 'Lock'`,
        [ann.name],
      )
      return rows.length === 1
    })
    await taker.query('commit')
    assert.match((await waits).rows[0].answer.why, /a process took the partition/)
  })

  it("processes cannot change a consumer's number, its name or a campaign", async () => {
    for (const statement of [
      `delete from onceward.consumer where name = 'pay'`,
      `update onceward.consumer set name = 'hidden' where name = 'pay'`,
      `update onceward.consumer set generation = 7 where name = 'pay'`,
      'delete from onceward.campaign',
    ])
      assert.match(await refusal(run.pool, statement), denied, statement)
    await run.pool.query(`update onceward.consumer set owner = 'others', name = name where name = 'pay'`)
  })
})
