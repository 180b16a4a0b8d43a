import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { describe, test } from 'node:test'
import { projection } from 'onceward'
import { resolveRetention } from '../../src/contract/retention.ts'
import { partitionConsumer } from '../../src/operations/retention/partition-consumer.ts'
import { finishCampaign, verifyCampaign } from '../../src/replay/campaign/steer-campaign.ts'
import { skipWithout } from '../services/services.ts'
import { runChild } from './kill.ts'
import { type Fact, facts, Scene } from './scene.ts'

/** Live has a table that somebody spoilt; the rebuild has run and is verified. */
async function rebuilt(t: Parameters<typeof Scene.open>[0]) {
  const scene = await Scene.open(t)
  const consumer = scene.contract()
  await scene.write(...facts(60))
  await scene.live(consumer)
  await scene.pool.query(`update effect set times = 7 where id < 'f00010'`)
  const replay = await scene.replay(consumer)
  const id = await scene.planned(replay, { mode: 'rebuild' })
  await replay.run(id)
  assert.equal((await verifyCampaign(scene.pool, id)).complete, true)
  return { scene, consumer, replay, id }
}

const accept = { effect: 'somebody spoilt the live rows' }
const sums = `select count(*)::int as rows, sum(times)::int as times from effect`

describe('a rebuild', await skipWithout('postgres'), () => {
  test('leaves the live table alone until it is swapped in, with the messages that arrived meanwhile, once each', async t => {
    const { scene, consumer, replay, id } = await rebuilt(t)
    assert.deepEqual(await scene.rows(sums), [{ rows: 60, times: 120 }])
    await scene.write(...facts(5, 'live'))
    await scene.live(consumer)
    await scene.write(...facts(3, 'unread'))
    const swap = await replay.swap(id, { accept })
    assert.deepEqual([swap.campaign.state, swap.messages], ['swapped', 0])
    assert.deepEqual(await scene.rows(sums), [{ rows: 65, times: 65 }])
    await scene.live(consumer)
    assert.deepEqual(await scene.rows(sums), [{ rows: 68, times: 68 }])
    await scene.write(...facts(2, 'after'))
    await scene.live(consumer)
    assert.deepEqual(await scene.rows(sums), [{ rows: 70, times: 70 }])
    await assert.rejects(scene.pool.query(`insert into effect (id, mode) values ('f00001', 'x')`), {
      constraint: 'effect_pkey',
    })
    await finishCampaign(scene.pool, id)
    assert.deepEqual(
      await scene.rows(`select nspname from pg_namespace where nspname like 'onceward\\_%'`),
      [],
    )
    assert.deepEqual(await scene.rows('select count(*)::int as n from onceward.suppressed_effect'), [
      { n: 130 },
    ])
  })

  test('is rolled back to the old table, and a replay applies what was applied since', async t => {
    const { scene, consumer, replay, id } = await rebuilt(t)
    await replay.swap(id, { accept })
    await scene.write(...facts(4, 'after'))
    await scene.live(consumer)
    const back = await replay.rollBack(id)
    assert.deepEqual([back.campaign.state, back.messages], ['cancelled', 4])
    assert.deepEqual(await scene.rows(sums), [{ rows: 60, times: 120 }])
    const next = await scene.planned(replay)
    await replay.run(next)
    assert.deepEqual(await scene.outcomes(next), { applied: 4, duplicate: 60 })
    assert.deepEqual(await scene.rows(sums), [{ rows: 64, times: 124 }])
  })

  test('is rolled back together with the markers that the swap carried, beside concurrent commits', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(10))
    // Nothing is asked outside, so the rebuild may be ahead of live.
    const consumer = scene.contract({
      effect: {},
      async handle({ message, tx, mode }) {
        await tx.query('insert into effect (id, mode) values ($1, $2)', [message.id, mode])
      },
    })
    const replay = await scene.replay(consumer)
    const id = await scene.planned(replay, { mode: 'rebuild' })
    await replay.run(id)
    await verifyCampaign(scene.pool, id)
    const others = new AbortController()
    const committing = (async () => {
      while (!others.signal.aborted) await scene.pool.query('select pg_current_xact_id()')
    })()
    const accept = { effect: 'live has read nothing yet' }
    const swap = await replay.swap(id, { accept }).finally(() => others.abort())
    await committing
    assert.equal(swap.messages, 10)
    const back = await replay.rollBack(id)
    assert.equal(back.messages, 10)
    await scene.live(consumer)
    assert.deepEqual(await scene.rows(sums), [{ rows: 10, times: 10 }])
  })

  test('can be rolled back as long as it is not finished: markers do not move into days until then', async t => {
    const { scene, consumer, replay, id } = await rebuilt(t)
    const daily = {
      ...consumer,
      identity: { ...consumer.identity, idTime: 'uuidv7' as const },
      retention: resolveRetention({ markers: '30d', partitions: 'daily' }, 'projection'),
    }
    const refused = /is being rebuilt or can still be rolled back.* Nothing was changed/
    await assert.rejects(partitionConsumer(scene.pool, daily), refused)
    await replay.swap(id, { accept })
    await assert.rejects(partitionConsumer(scene.pool, daily), refused)
    await scene.write(...facts(4, 'after'))
    await scene.live(consumer)
    assert.equal((await replay.rollBack(id)).messages, 4)
    assert.equal((await partitionConsumer(scene.pool, daily)).moved, 60)
  })

  test('is finished together with its old tables, or not at all', async t => {
    const { scene, replay, id } = await rebuilt(t)
    await replay.swap(id, { accept })
    await scene.pool.query(`
      create function kept() returns event_trigger language plpgsql as $$ begin raise exception 'nothing is dropped today'; end $$;
      create event trigger kept on sql_drop execute function kept()`)
    await assert.rejects(finishCampaign(scene.pool, id), /nothing is dropped today/)
    assert.deepEqual(await scene.rows('select state from onceward.campaign'), [{ state: 'swapped' }])
    await scene.pool.query('drop event trigger kept')
    assert.equal((await finishCampaign(scene.pool, id)).state, 'finished')
  })

  test('that lacks live applied messages is not swapped in unless that is accepted', async t => {
    const { scene, replay, id } = await rebuilt(t)
    await scene.pool.query(
      `insert into onceward.inbox (consumer_id, run_id, status, message_id, digest) select 1, 1, 'applied', 'from elsewhere', '\\x00'`,
    )
    await assert.rejects(
      replay.swap(id, { accept }),
      /1 messages that the live consumer has applied are not in the rebuilt tables/,
    )
    assert.deepEqual(await scene.rows(sums), [{ rows: 60, times: 120 }])
    await replay.swap(id, { acceptMissing: true, accept })
    assert.deepEqual(await scene.rows(sums), [{ rows: 60, times: 60 }])
  })

  test('whose handler names the live table with its schema is stopped before it commits', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(3))
    const consumer = scene.contract({
      async handle({ message, tx }) {
        await tx.query(`insert into public.effect (id, mode) values ($1, 'x')`, [message.id])
      },
    })
    const replay = await scene.replay(consumer)
    const id = await scene.planned(replay, { mode: 'rebuild' })
    await assert.rejects(replay.run(id), /wrote to the live table public.effect/)
    assert.deepEqual(await scene.rows('select from effect'), [])
  })

  test('of a table that a view reads is refused before anything is read', async t => {
    const scene = await Scene.open(t)
    await scene.write(...facts(3))
    await scene.pool.query('create view report as select * from effect')
    const replay = await scene.replay(scene.contract())
    await assert.rejects(scene.planned(replay, { mode: 'rebuild' }), /view report reads it/)
  })

  test('keeps what belongs to the table: its counter, its owner, its rights and the keys it refers by', async t => {
    const scene = await Scene.open(t)
    const owner = `owner_${Math.random().toString(36).slice(2)}`
    await scene.pool.query(`create role ${owner}`)
    await scene.pool.query(`create table known (mode text primary key); insert into known values ('live'), ('rebuild');
      alter table effect add column number bigserial, add column x integer, add foreign key (mode) references known;
      alter table effect owner to ${owner}; grant select (times) on effect to public`)
    await scene.write(...facts(20))
    const compare = { effect: { columns: ['times'], mayChange: ['number'] } }
    const consumer = scene.contract({ replay: { modes: ['rebuild'], tables: ['effect'], compare } })
    await scene.live(consumer)
    const like = `select pg_get_userbyid(relowner) as owner, relacl::text as rights,
        (select attacl::text from pg_attribute where attrelid = c.oid and attname = 'times') as column_rights,
        array(select conname::text from pg_constraint where conrelid = c.oid order by 1) as constraints
      from pg_class c where oid = 'effect'::regclass`
    const before = await scene.rows(like)
    const replay = await scene.replay(consumer)
    for (const step of ['rollBack', 'finish'] as const) {
      const id = await scene.planned(replay, { mode: 'rebuild' })
      await replay.run(id)
      await verifyCampaign(scene.pool, id)
      await replay.swap(id)
      assert.deepEqual(await scene.rows(like), before)
      if (step === 'rollBack') await replay.rollBack(id)
      else await finishCampaign(scene.pool, id)
      await scene.pool.query(`insert into effect (id, mode) values ('by hand ${step}', 'live')`)
      await scene.pool.query(`delete from effect where id like 'by hand%'`)
    }
    await scene.pool.query('create publication published for table effect')
    await assert.rejects(scene.planned(replay, { mode: 'rebuild' }), /publication published publishes it/)
    await scene.pool.query(`drop owned by ${owner}; drop role ${owner}`)
  })

  test('of a declared projection rebuilds its table', async t => {
    const scene = await Scene.open(t)
    await scene.pool.query('create table latest (id text primary key, version bigint not null, fact text)')
    const versions = [1, 2, 3].map(version => ({ id: `k ${version}`, key: 'k', version }))
    await scene.write(...(versions as unknown as Fact[]))
    const latest = projection<Fact>({
      table: 'latest',
      key: { id: (fact: Fact) => fact.key },
      version: { version: (fact: Fact) => (fact as unknown as { version: number }).version },
      columns: { fact: (fact: Fact) => fact.id },
      gap: 'accept latest',
    })
    const consumer = scene.contract({
      handle: undefined as never,
      effect: { apply: latest },
      replay: { modes: ['rebuild'] },
    })
    await scene.live(consumer)
    await scene.pool.query('update latest set version = 9')
    const replay = await scene.replay(consumer)
    const id = await scene.planned(replay, { mode: 'rebuild' })
    await replay.run(id)
    await verifyCampaign(scene.pool, id)
    await replay.swap(id, { accept: { latest: 'a version that never was' } })
    assert.deepEqual(await scene.rows('select id, version::int from latest'), [{ id: 'k', version: 3 }])
  })

  for (const [point, step] of [
    ['swap.moved', 'swap'],
    ['swap.done', 'swap'],
    ['swap.undone', 'rollBack'],
  ] as const) {
    test(`killed at ${point} is complete, before or after the swap`, async t => {
      const { scene, replay, id } = await rebuilt(t)
      if (step === 'rollBack') await replay.swap(id, { accept })
      const witness = `${scene.path}.witness`
      const orders = { databaseUrl: scene.url, path: scene.path, id, step }
      assert.equal(await runChild({ ...orders, dieAt: { point, hit: 1, witness } }), 'SIGKILL')
      assert.ok(existsSync(witness))
      const isNew = point !== 'swap.moved'
      assert.deepEqual(await scene.rows(sums), [{ rows: 60, times: isNew ? 60 : 120 }])
      const [row] = await scene.rows('select state from onceward.campaign')
      assert.equal(row!.state, isNew ? 'swapped' : 'verified')
      if (point === 'swap.done') return
      assert.equal(await runChild({ ...orders, dieAt: null }), 0)
      assert.deepEqual(await scene.rows(sums), [{ rows: 60, times: step === 'swap' ? 60 : 120 }])
    })
  }
})
