import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { defineConsumer, type Running, runConsumer } from 'onceward'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { purgeConsumer } from '../../src/operations/retention/purge-consumer.ts'
import { purgeOptions } from '../retention/scene.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

const src = join(dirname(fileURLToPath(import.meta.url)), '../../src')

test('leases and due times never use the time at which a transaction began', () => {
  const frozen =
    /(?<![.\w])(now\(\)|current_timestamp|transaction_timestamp\(\)|statement_timestamp\(\)|localtimestamp)/i
  const found = globSync('**/*.ts', { cwd: src }).flatMap(file =>
    readFileSync(join(src, file), 'utf8')
      .split('\n')
      .filter(line => frozen.test(line) && !/^\s*(\/\/|\/?\*|--)/.test(line))
      .map(line => `${file}: ${line.trim()}`),
  )
  // When something was written may be the beginning of its transaction, and a transaction is told by it; when
  // something ends may not.
  const allowed =
    /\b(at|recorded_at)\s+timestamptz not null default now\(\)|, at = now\(\)`?$|(sent|#lastGood) = now\(\)|(function|get) now\(\)|from now\(\)\).* as began|now\(\) = statement_timestamp\(\) as none/
  assert.deepEqual(
    found.filter(line => !allowed.test(line)),
    [],
  )
  assert.deepEqual(
    found.filter(line => /until|due|lease|expires/i.test(line)),
    [],
  )
})

/**
 * A migration looks no names up in the search path: the defaults of its tables are bound to the server's own
 * functions.
 */
const followDefaults = `
  do $$
  declare made record;
  begin
    for made in
      select d.adrelid::regclass as of_table, a.attname as name, pg_get_expr(d.adbin, d.adrelid) as expression
      from pg_attrdef d join pg_attribute a on a.attrelid = d.adrelid and a.attnum = d.adnum
      join pg_class c on c.oid = d.adrelid where c.relnamespace = 'onceward'::regnamespace
    loop
      if made.expression in ('pg_catalog.now()', 'pg_catalog.clock_timestamp()') then
        execute format('alter table %s alter %I set default %s', made.of_table, made.name, replace(made.expression, 'pg_catalog.', 'faked.'));
      end if;
    end loop;
  end $$`

/**
 * A database whose clock a test can set: functions of the same names stand before the server's own in the
 * search path. The defaults of the schema follow.
 */
async function databaseWithClock() {
  const database = await createDatabase()
  const admin = createPool(database.url, { max: 1 })
  await admin.query(`
    create schema faked;
    create table faked.clock (ahead interval not null);
    insert into faked.clock values ('0');
    create function faked.clock_timestamp() returns timestamptz language sql volatile
      as 'select pg_catalog.clock_timestamp() + ahead from faked.clock';
    create function faked.now() returns timestamptz language sql stable
      as 'select pg_catalog.now() + ahead from faked.clock'`)
  await admin.query(`alter database ${database.name} set search_path = faked, pg_catalog, public`)
  await admin.end()
  const pool = createPool(database.url, { max: 3 })
  await migrate(pool)
  await pool.query(followDefaults)
  return {
    url: database.url,
    pool,
    /** Where its clock is from now on, against the true one. */
    set: (ahead: string) => pool.query('update faked.clock set ahead = $1::interval', [ahead]),
    async [Symbol.asyncDispose]() {
      await pool.end()
      await database.drop()
    },
  }
}

describe("a database's clock that jumps", await skipWithout('postgres'), () => {
  for (const jump of ['1 day', '-1 day'] as const) {
    for (const mode of ['transactional', 'stored'] as const) {
      test(`by ${jump} while work is under way (${mode}): every message takes effect once`, async () => {
        await using database = await databaseWithClock()
        await database.pool.query('create table public.effect (id text)')
        await createQueue(database.pool, 'jumping')
        const first = Promise.withResolvers<void>()
        const go = Promise.withResolvers<void>()
        let calls = 0
        const consumer = defineConsumer<{ id: string }>({
          name: 'jumping',
          owner: 'tests',
          risk: 'money',
          source: postgresQueue('jumping', { leaseMs: 2_000 }),
          identity: { id: m => m.id },
          inbox: { mode, leaseMs: 2_000 },
          batch: { sizeMax: 10 },
          async handle({ message, tx }) {
            if (++calls === 1) {
              first.resolve()
              await go.promise
            }
            await tx.query('insert into public.effect values ($1)', [message.id])
          },
        })
        const bodies = Array.from({ length: 200 }, (_, n) => ({ body: JSON.stringify({ id: `m${n}` }) }))
        await publish(database.pool, 'jumping', bodies)
        const running: Running[] = []
        const start = async () =>
          void running.push(await runConsumer(consumer, { databaseUrl: database.url }))
        await start()
        await first.promise
        await database.set(jump)
        await start()
        go.resolve()
        const sql = `select count(*)::int, count(distinct id)::int as ids from public.effect`
        const applied = async () => (await database.pool.query(sql)).rows[0].ids as number
        await until('some are applied', async () => (await applied()) > 0)
        // What was due by the earlier time is due again only then: late, never twice.
        if (jump === '-1 day') await database.set('0')
        await until('all are applied', async () => (await applied()) === 200, { deadlineMs: 60_000 })
        await Promise.all(running.map(one => one.drain()))
        assert.deepEqual((await database.pool.query(sql)).rows[0], { count: 200, ids: 200 })
        const { rows } = await database.pool.query('select count(*)::int from onceward.held')
        assert.equal(rows[0].count, 0)
      })
    }
  }

  test('by ten years removes no markers until the clocks agree', async () => {
    await using database = await databaseWithClock()
    const { rows } = await database.pool.query(
      `insert into onceward.consumer (name, generation, owner, risk) values ('c', 1, 't', 'money') returning id`,
    )
    const scene = { pool: database.pool, consumerId: rows[0].id as number }
    await database.pool.query(
      `insert into onceward.inbox (consumer_id, run_id, status, message_id, digest)
       select ${scene.consumerId}, 1, 'applied', n::text, 'x' from generate_series(1, 100) n`,
    )
    await database.set('10 years')
    await assert.rejects(purgeConsumer(purgeOptions(scene)), { code: 'clocks_disagree' })
    const count = async () =>
      (await database.pool.query('select count(*)::int from onceward.inbox')).rows[0].count
    assert.equal(await count(), 100)
    await database.set('0')
    assert.equal((await purgeConsumer(purgeOptions(scene))).removed.markers, 0)
  })

  test('forward after a time behind removes no markers written meanwhile', async () => {
    await using database = await databaseWithClock()
    await createQueue(database.pool, 'behind')
    const consumer = defineConsumer<{ id: string }>({
      name: 'behind',
      owner: 'tests',
      risk: 'money',
      evidence: { receipts: false },
      source: postgresQueue('behind'),
      identity: { id: m => m.id },
      async handle() {},
    })
    const rows = async (sql: string) => (await database.pool.query(sql)).rows
    await database.set('-40 days')
    const running = await runConsumer(consumer, { databaseUrl: database.url })
    await publish(database.pool, 'behind', [{ body: JSON.stringify({ id: 'yesterday' }) }])
    await until('it is applied', async () => (await rows('select from onceward.inbox')).length === 1)
    await database.set('-1 day')
    const steps = () => rows('select from onceward.clock_step')
    await until('the first step is seen', async () => (await steps()).length === 1)
    await database.set('0')
    await until('the second step is seen', async () => (await steps()).length === 2)
    await running.drain()
    const [{ id: consumerId }] = await rows('select id from onceward.consumer')
    await database.pool.query(
      `insert into onceward.inbox (consumer_id, run_id, status, message_id, digest, at)
       select ${consumerId}, 1, 'applied', days || ' days', 'x', clock_timestamp() - days * interval '1 day' from unnest(array[69, 71]) days`,
    )
    const scene = { pool: database.pool, consumerId: consumerId as number }
    const { removed, putOff } = await purgeConsumer(purgeOptions(scene))
    assert.equal(removed.markers, 1)
    assert.match(putOff ?? '', /kept up to 40d longer: the database's clock was set forward/)
    const left = await rows('select message_id as id from onceward.inbox order by 1')
    assert.deepEqual(left, [{ id: '69 days' }, { id: 'yesterday' }])
    // Once what was applied before the last step is as old as the term, the steps are over.
    await database.pool.query(`update onceward.clock_step set at = at - interval '31 days'`)
    assert.equal((await purgeConsumer(purgeOptions(scene))).removed.markers, 2)
  })
})
