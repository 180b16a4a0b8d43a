import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { defineConsumer } from 'onceward'
import { until } from 'onceward/testing'
import { reconcile } from '../../src/evidence/reconcile/reconcile.ts'
import { skipWithout } from '../services/services.ts'
import { contractFile, type Evidence, openEvidence } from './evidence-scene.ts'

const payments = Array.from({ length: 12 }, (_, n) => ({
  id: `p-${n}`,
  order: `o-${n}`,
  amount: n === 11 ? 'none' : n,
}))

describe('onceward audit reconcile', await skipWithout('postgres'), () => {
  let scene: Evidence
  before(async () => {
    scene = await openEvidence()
    await scene.send('payment_capture', ...payments)
    const running = await scene.start()
    await scene.settled('payment_capture')
    await until(
      'all calls are made',
      async () => (await scene.count(`onceward.ledger where state = 'completed'`)) === 11,
    )
    await running.drain()
  })
  after(() => scene.close())

  const kinds = async () => {
    const { drift } = await reconcile(scene.pool, scene.capture as never)
    return Object.fromEntries(drift.map(({ kind, examples }) => [kind, examples.map(({ id }) => id)]))
  }
  /** Changes something by hand, looks, and puts it back. */
  const tampered = async (change: string, back: string) => {
    await scene.pool.query(change)
    const found = await kinds()
    await scene.pool.query(back)
    return found
  }

  it('finds nothing in an unchanged database', async () => {
    const answer = await scene.json('audit', 'reconcile', contractFile)
    assert.deepEqual([answer.exit, answer.ok, answer.drift, answer.limits], [0, true, [], []])
    assert.deepEqual([answer.markers, answer.effects], [12, 11])
    const { code, stdout, stderr } = await scene.run('audit', 'reconcile', contractFile)
    assert.equal(code, 0)
    assert.match(stdout, /12 markers and 11 messages with effects compared\.\n\nNo drift was found\./)
    assert.match(stderr, /compared .*reconcile\.effects/)
  })

  it('finds each kind of drift that a manual change leaves', async () => {
    const keep = (table: string, of: string) =>
      `create table kept as select * from ${table} where ${of}; delete from ${table} where ${of}`
    const restore = (table: string) => `insert into ${table} select * from kept; drop table kept`
    const marker = (id: string) => `message_id = '${id}'`
    assert.deepEqual(await tampered(keep('payment', `id = 'p-1'`), restore('payment')), {
      'marker without effect': ['p-1'],
    })
    assert.deepEqual(await tampered(keep('onceward.inbox', marker('p-2')), restore('onceward.inbox')), {
      'effect without marker': ['p-2'],
      'business key without marker': ['o-2'],
      'external effect without marker': ['p-2'],
    })
    assert.deepEqual(
      await tampered(
        `update onceward.inbox set status = 'ignored' where ${marker('p-3')}`,
        `update onceward.inbox set status = 'applied' where ${marker('p-3')}`,
      ),
      { 'effect of a message that is not applied': ['p-3'], 'external effect without marker': ['p-3'] },
    )
    assert.deepEqual(
      await tampered(
        `insert into payment values ('again', 1, 'p-4', 1)`,
        `delete from payment where id = 'again'`,
      ),
      { 'effect more than once': ['p-4'] },
    )
    assert.deepEqual(
      await tampered(
        `insert into onceward.inbox (consumer_id, run_id, status, message_id, digest) select id, 999, 'applied', 'forged', '' from onceward.consumer`,
        `delete from onceward.inbox where ${marker('forged')}`,
      ),
      { 'marker without effect': ['forged'], 'marker of no run': ['forged'] },
    )
    assert.deepEqual(
      await tampered(
        `update onceward.inbox set at = at - interval '2 days' where ${marker('p-5')}`,
        `update onceward.inbox set at = at + interval '2 days' where ${marker('p-5')}`,
      ),
      { 'marker of no run': ['p-5'] },
    )
  })

  it('finds work that would never be done, or twice', async () => {
    const none = await tampered(
      'create table kept as select * from onceward.held; delete from onceward.held',
      'insert into onceward.held overriding system value select * from kept; drop table kept',
    )
    assert.deepEqual(none, { 'work without a row': ['p-11'] })
    const twice = await tampered(
      `update onceward.inbox set status = 'ignored' where message_id = 'p-11'`,
      `update onceward.inbox set status = 'parked' where message_id = 'p-11'`,
    )
    assert.deepEqual(twice, { 'row without its marker': ['p-11'] })
  })

  it('compares digests, and accepts edited rows that the contract declares', async () => {
    await scene.pool.query(`alter table payment add column digest bytea;
      update payment p set digest = i.digest from onceward.inbox i where i.message_id = p.caused_by;
      update payment set digest = 'other' where id = 'p-6'; update payment set amount = -1 where id = 'p-7'`)
    const section = {
      effects: 'select caused_by as message_id, digest from payment',
      edited: 'select caused_by as message_id from payment where amount < 0',
    }
    const { drift } = await reconcile(scene.pool, { ...scene.capture, reconcile: section } as never)
    assert.deepEqual(
      drift.map(({ kind, examples }) => [kind, examples[0]!.id]),
      [
        ['digest differs', 'p-6'],
        ['row edited', 'p-7'],
      ],
    )
  })

  it('compares the digest of every row of a message, not of one', async () => {
    const section = { effects: 'select caused_by as message_id, digest from payment' }
    const found = await (async () => {
      await scene.pool.query(`insert into payment select id || ' again', amount, caused_by, caused_by_run, digest from payment where id = 'p-9';
        update payment set digest = 'other' where id = 'p-9 again'`)
      const edited = await reconcile(scene.pool, { ...scene.capture, reconcile: section } as never)
      await scene.pool.query(`update payment p set digest = other.digest from payment other where p.id = 'p-9 again' and other.id = 'p-9';
        update payment set digest = 'other' where id = 'p-9'`)
      const swapped = await reconcile(scene.pool, { ...scene.capture, reconcile: section } as never)
      await scene.pool.query(`delete from payment where id = 'p-9 again'`)
      return [edited, swapped]
    })()
    for (const { drift } of found)
      assert.ok(
        drift.some(
          ({ kind, examples }) => kind === 'digest differs' && examples.some(({ id }) => id === 'p-9'),
        ),
        JSON.stringify(drift),
      )
    await scene.pool.query(
      `update payment p set digest = i.digest from onceward.inbox i where i.message_id = p.caused_by`,
    )
  })

  it('says how many rows it could not compare because they name no message', async () => {
    await scene.pool.query(`insert into payment values ('by hand', 1000, null, null), ('empty', 1, '', null)`)
    const { drift, limits } = await reconcile(scene.pool, scene.capture as never)
    await scene.pool.query(`delete from payment where id in ('by hand', 'empty')`)
    assert.deepEqual(drift, [])
    assert.match(limits.join('\n'), /^2 rows of reconcile\.effects name no message/m)
  })

  it('does not blame rows older than the markers that are left', async () => {
    await scene.pool.query(`insert into payment values ('old', 1, 'long-gone', 1);
      insert into onceward.horizon (consumer_id, purged_before, purged_count) select id, '2020-01-01', 1 from onceward.consumer`)
    const untimed = await reconcile(scene.pool, scene.capture as never)
    assert.deepEqual(untimed.drift, [])
    assert.match(untimed.limits[0]!, /^1 rows of reconcile\.effects have no marker, and markers before 2020/)
    const timed = (at: string) =>
      reconcile(scene.pool, {
        ...scene.capture,
        reconcile: { effects: `select caused_by as message_id, timestamptz '${at}' as at from payment` },
      } as never)
    assert.deepEqual((await timed('2019-01-01')).drift, [])
    assert.equal((await timed('2021-01-01')).drift[0]!.kind, 'effect without marker')
    const withoutTime = await reconcile(scene.pool, {
      ...scene.capture,
      reconcile: {
        effects: `select caused_by as message_id, case when id <> 'old' then timestamptz '2021-01-01' end as at from payment`,
      },
    } as never)
    assert.match(withoutTime.limits.join(), /^1 rows of reconcile\.effects have no marker/)
    await scene.pool.query(`delete from payment where id = 'old'; truncate onceward.horizon`)
  })

  it('writes nothing, for any query, and refuses tables that cannot be compared', async () => {
    const refused = (reconciled: object, message: RegExp) =>
      assert.rejects(reconcile(scene.pool, { ...scene.capture, ...reconciled } as never), {
        code: 'usage',
        message,
      })
    await scene.pool.query(
      `create function sly() returns text language plpgsql as $$ begin delete from payment; return 'x'; end $$`,
    )
    await refused(
      { reconcile: { effects: 'select sly() as message_id from generate_series(1, 2)' } },
      /tried to write/,
    )
    await refused({ reconcile: { effects: 'select caused_by as message_id from no_such' } }, /cannot be run/)
    await refused({ dedup: 'version' }, /deduplicates by version/)
    await refused({ generation: 7 }, /never ran in this database as generation 7; known: 1/)
    await refused({ name: 'payment_captur' }, /Did you mean "payment_capture"/)
    assert.equal(await scene.count('payment'), 11)
    const wrong = (section: object, place: string) =>
      assert.throws(
        () =>
          defineConsumer({
            ...scene.capture,
            message: {},
            failure: {},
            batch: {},
            inbox: {},
            isolation: {},
            settle: {},
            replay: {},
            retention: undefined,
            reconcile: section,
          } as never),
        (error: Error) => error.message.includes(`- ${place}`),
      )
    wrong({}, 'reconcile.effects: is missing')
    wrong({ effects: 'delete from payment' }, 'reconcile.effects: must be one SELECT')
    wrong({ effects: 'select message_id from x; drop table x' }, 'reconcile.effects: must be one SELECT')
    wrong(
      { effects: 'select message_id from x', cover: 'all' },
      "reconcile.cover: is not a known key; did you mean 'covers'",
    )
  })

  it('reports drift by its exit code, and names it', async () => {
    await scene.pool.query(`delete from payment where id = 'p-8'`)
    const answer = await scene.json('audit', 'reconcile', contractFile)
    assert.deepEqual([answer.exit, answer.ok], [1, false])
    const { code, stdout } = await scene.run('audit', 'reconcile', contractFile)
    assert.equal(code, 1)
    assert.match(stdout, /1 × marker without effect\. .*\nid +detail\np-8 +marker applied/)
  })
})
