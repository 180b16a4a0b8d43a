import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { resolveRetention } from '../../src/contract/retention.ts'
import { packReceipts, unpackReceipt } from '../../src/drivers/postgres/sql/pack-receipts.ts'
import { dropTenant } from '../../src/operations/retention/drop-tenant.ts'
import { planPurge } from '../../src/operations/retention/plan-purge.ts'
import { declareTerms } from '../../src/operations/retention/record-pass.ts'
import { People } from '../parking/people.ts'
import { skipWithout } from '../services/services.ts'
import { day, type MemoryScene, memoryScene, purge, purgeOptions } from './scene.ts'

const section = {
  markers: '60d',
  tenantSeparator: '/',
  tenants: { short: '30d', long: '90d' },
} as const

const declare = (scene: MemoryScene) =>
  declareTerms(scene.pool, scene.consumerId, resolveRetention(section, 'money'), 0, 20 * day)

const drop = (scene: Pick<MemoryScene, 'pool'>, tenant: string, because = 'left us') =>
  dropTenant(scene.pool, { consumer: 'remembering', tenant, because })

const lastAct = async ({ pool }: MemoryScene) =>
  (
    await pool.query(
      'select action, outcome, consumer, subject, reason, detail from onceward.audit order by seq desc limit 1',
    )
  ).rows[0]

describe('retention by tenant', await skipWithout('postgres'), () => {
  test('removes the rows of each tenant by its own term, and those of others by the general one', async () => {
    await using scene = await memoryScene('projection')
    for (const days of [29, 31, 59, 61, 89, 91])
      for (const tenant of ['short/', 'other/', 'long/', 'longer-'])
        await scene.markers(`${tenant}${days}-`, 2, days)
    await scene.pool.query(
      `insert into onceward.business_key (consumer_id, at, key, message_id) select consumer_id, at, 'k' || message_id, message_id from onceward.inbox`,
    )
    const planned = await planPurge(scene.pool, scene.consumerId, purgeOptions(scene, section).retention)
    const { removed } = await purge(scene, section)
    assert.deepEqual([removed.markers, removed.businessKeys], [24, 24])
    assert.equal(planned.find(({ kind }) => kind === 'markers')!.rows, removed.markers)
    const left = async (tenant: string) =>
      (
        await scene.pool.query(
          `select distinct split_part(substring(message_id from '[/-].*'), '-', 1) as days from onceward.inbox where message_id like $1 || '%' order by 1`,
          [tenant],
        )
      ).rows.map(({ days }) => days as string)
    assert.deepEqual(await left('short/'), ['/29'])
    assert.deepEqual(await left('other/'), ['/29', '/31', '/59'])
    assert.deepEqual(await left('long/'), ['/29', '/31', '/59', '/61', '/89'])
    const { purged_before } = (await scene.horizon())!
    assert.ok(Math.abs(purged_before.getTime() - (Date.now() - 30 * day)) < 60_000, 'by the shortest term')
  })

  test('drops a tenant: its rows of every kind, as an act in the audit, and no row of others', async () => {
    await using scene = await memoryScene('projection')
    await declare(scene)
    for (const tenant of ['acme/', 'acme-north/', 'acm/', 'acme0']) await scene.markers(tenant, 3, 25)
    await scene.markers('acme/dead', 1, 25, 'dead')
    await scene.held('acme/dead00000001', 'dead', 25)
    await scene.pool.query(`
      insert into onceward.note (consumer_id, message_id, code, detail) select consumer_id, message_id, 'c', 'd' from onceward.inbox;
      insert into onceward.attempt (consumer_id, message_id, number, run_id, failure_class, code, error)
        select consumer_id, message_id, 1, 1, 'transient', 'c', 'e' from onceward.inbox;
      insert into onceward.first_seen select consumer_id, message_id, at from onceward.inbox;
      insert into onceward.business_key (consumer_id, at, key, message_id) select consumer_id, at, message_id, message_id from onceward.inbox;
      insert into onceward.ledger (consumer_name, target, effect_key, state, completed_at, run_id, message_id, request_digest, content_type, body)
        select 'remembering', 't', message_id, 'completed', at, 1, message_id, '', '', '' from onceward.inbox`)
    const { removed } = await drop(scene, 'acme')
    const each = 4
    assert.deepEqual(removed, {
      markers: each,
      deadLetters: 1,
      businessKeys: each,
      notes: each + 1,
      attempts: each,
      effects: each,
      suppressedEffects: 0,
      receipts: 0,
    })
    for (const table of ['inbox', 'note', 'attempt', 'business_key', 'first_seen']) {
      assert.equal(await scene.left('acme/', table), 0, table)
      assert.equal(await scene.left('', table), 9, table)
    }
    assert.deepEqual(await lastAct(scene), {
      action: 'retention drop-tenant',
      outcome: 'done',
      consumer: 'remembering',
      subject: 'acme',
      reason: 'left us',
      detail: removed,
    })
    const { purged_before, purged_count } = (await scene.horizon())!
    assert.equal(purged_count, each)
    assert.ok(Math.abs(purged_before.getTime() - (Date.now() - 25 * day)) < 60_000)
    assert.equal((await drop(scene, 'acme')).removed!.notes, 0, 'a second time finds nothing')
  })

  test('does not drop what can still be redelivered or is unfinished, and says so in the audit', async () => {
    await using scene = await memoryScene('projection')
    await assert.rejects(drop(scene, 'acme'), /No process has declared/)
    await declare(scene)
    await scene.markers('young/', 2, 19)
    await scene.markers('young/old', 2, 25)
    await assert.rejects(drop(scene, 'young'), /2 of its messages can still be redelivered/)
    await scene.pool.query(`insert into onceward.queue (name) values ('orders')`)
    await scene.pool.query(
      `insert into onceward.reader (consumer_name, kind, source, consumer_group, position_kept_by) values ('remembering', 'postgres', 'orders', '', 'queue')`,
    )
    await scene.pool.query(
      `insert into onceward.queue_message (queue_id, published_at, body) select id, now() - interval '24 days', '' from onceward.queue`,
    )
    await scene.markers('queued/', 1, 24.5)
    await assert.rejects(drop(scene, 'queued'), /1 of its messages can still be redelivered/)
    await scene.pool.query('delete from onceward.queue_message')
    for (const state of ['stored', 'waiting', 'parked']) {
      await scene.markers(`${state}/`, 1, 25, state)
      await scene.held(`${state}/00000001`, state, 25)
      await assert.rejects(drop(scene, state), /1 messages or effects of the tenant are unfinished/)
    }
    await scene.pool.query(
      `insert into onceward.ledger (consumer_name, target, effect_key, run_id, message_id, request_digest, content_type, body)
       values ('remembering', 't', 'k', 1, 'calls/1', '', '', '')`,
    )
    await assert.rejects(drop(scene, 'calls'), /unfinished/)
    await scene.markers('first/', 1, 25)
    await scene.held('second/1', 'dead', 25)
    await scene.pool.query(
      `insert into onceward.business_key (consumer_id, at, key, message_id) select consumer_id, at, 'one', message_id from onceward.inbox where message_id like 'first/%'`,
    )
    await scene.pool.query(
      `update onceward.held set business_key = 'one', keyless = true where message_id = 'second/1'`,
    )
    await assert.rejects(drop(scene, 'first'), /others wait for them/)
    for (const name of ['', ' ', 'a/b', 'sha256'])
      await assert.rejects(drop(scene, name), /not the name of a tenant/)
    await assert.rejects(drop(scene, 'young', ' '), /Say why/)
    assert.equal((await lastAct(scene)).outcome, 'refused')
    assert.deepEqual([await scene.left(), await scene.horizon()], [9, undefined])
  })

  for (const risk of ['money', 'regulatory', 'unheard of'])
    test(`needs two people who are registered: risk ${risk}`, async () => {
      await using scene = await memoryScene(risk)
      await scene.pool.query('select onceward.create_roles()')
      const people = new People(scene.pool, scene.url)
      try {
        await declare(scene)
        await scene.markers('acme/', 3, 25)
        const person = () => people.login(['onceward_approver'], { person: true })
        const [ann, bob, cy] = [await person(), await person(), await person()]
        const shared = await people.login(['onceward_approver'], { person: false })
        const by = ({ pool }: Pick<MemoryScene, 'pool'>, tenant = 'acme') => drop({ pool }, tenant)
        await assert.rejects(by(shared), /is not registered in onceward.person/)
        const asked = await by(ann)
        assert.equal(asked.removed, null)
        assert.ok(Math.abs(Date.parse(asked.until!) - Date.now() - day) < 60_000)
        assert.equal(await scene.left('acme/'), 3, 'a request removes nothing')
        await assert.rejects(by(ann), /The requester cannot approve/)
        await assert.rejects(by(shared), /is not registered/)
        assert.equal(
          (await by(bob, 'other')).removed,
          null,
          'the request of one tenant is not that of another',
        )
        assert.equal((await by(bob)).removed!.markers, 3)
        assert.equal(await scene.left('acme/'), 0)
        const { rows } = await scene.pool.query(
          `select actor, action, detail ->> 'requestedBy' as asked from onceward.audit where outcome = 'done' and subject = 'acme' order by seq`,
        )
        assert.deepEqual(rows, [
          { actor: ann.name, action: 'retention drop-tenant request', asked: null },
          { actor: bob.name, action: 'retention drop-tenant', asked: ann.name },
        ])
        assert.equal((await by(cy)).removed, null, 'a request is used once')
        await scene.pool.query(
          `update onceward.tenant_drop set expires_at = clock_timestamp() where tenant = 'acme'`,
        )
        assert.equal((await by(bob)).removed, null, 'an old request is not completed')
      } finally {
        await people.close()
      }
    })

  test('takes the messages of the tenant out of receipts, and leaves those of others as they were', async () => {
    await using scene = await memoryScene('projection')
    await declare(scene)
    const facts = { type: 'paid', correlationId: null } as never
    const receipts = ['acme/1', 'b/1', 'acme/2', 'c/1'].map((id, n) => ({
      id,
      receipt: {
        facts: { ...(facts as object), eventId: `event of ${id}` } as never,
        payload: Buffer.from('x'.repeat(n + 1) + id),
        outlivesMarker: true,
      },
    }))
    const insert = (some: typeof receipts) => {
      const packed = packReceipts(some)
      return scene.pool.query(
        `insert into onceward.receipt (consumer_id, run_id, count, facts, digests, payloads, id_hashes)
         values ($1, 1, $2, $3, $4, $5, (select array_agg(hashtextextended(id, 0) order by n) from unnest($6::text[]) with ordinality as i (id, n)))`,
        [
          scene.consumerId,
          some.length,
          packed.facts,
          Buffer.concat(some.map(({ id }) => Buffer.from(id.padEnd(8)))),
          packed.payloads,
          some.map(({ id }) => id),
        ],
      )
    }
    await insert(receipts)
    await insert(receipts.filter(({ id }) => id.startsWith('acme')))
    await insert(receipts.filter(({ id }) => !id.startsWith('acme')))
    assert.equal((await drop(scene, 'acme')).removed!.receipts, 4)
    const { rows } = await scene.pool.query(
      `select count, facts, digests, payloads, id_hashes = array[hashtextextended('b/1', 0), hashtextextended('c/1', 0)] as hashed from onceward.receipt`,
    )
    assert.equal(rows.length, 2)
    for (const row of rows) {
      assert.deepEqual([row.count, row.hashed, row.digests.toString()], [2, true, 'b/1     c/1     '])
      assert.equal(unpackReceipt(row.facts, 'acme/1'), null)
      for (const { id, receipt } of receipts.filter(one => !one.id.startsWith('acme'))) {
        const found = unpackReceipt(row.facts, id)!
        assert.equal(found.facts.eventId, `event of ${id}`)
        assert.equal(found.facts.type, 'paid')
        const { from, length } = found.bytes!
        assert.deepEqual(row.payloads.subarray(from, from + length), receipt.payload)
      }
    }
  })
})
