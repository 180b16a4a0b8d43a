import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { type ConsumerContract, projection } from 'onceward'
import { createPool, createQueue, migrate, postgresQueue } from 'onceward/postgres'
import { until } from 'onceward/testing'
import pg from 'pg'
import { partitionConsumer } from '../../src/operations/retention/partition-consumer.ts'
import type { LiveAccess } from '../../src/review/live/access.ts'
import type { Finding } from '../../src/review/rule.ts'
import { memoryRules } from '../../src/review/rules/memory.ts'
import { postgresRules } from '../../src/review/rules/postgres.ts'
import { startPrivatePostgres } from '../services/private-postgres.ts'
import { createDatabase, ensurePgbouncer, postgresUrl } from '../services/services.ts'
import { consumerWith } from './contract-pairs.ts'
import { liveFindings, Seen } from './live-scene.ts'

const seen = new Seen()
const hour = 3_600_000

/** A server of its own: the test changes its settings, its roles and its clock as the check sees it. */
describe('check --live on PostgreSQL', () => {
  let server: Awaited<ReturnType<typeof startPrivatePostgres>>
  let pool: ReturnType<typeof createPool>
  const environment = 'production'
  before(async () => {
    server = await startPrivatePostgres()
    pool = createPool(server.url)
  })
  after(async () => {
    await pool.end()
    await server[Symbol.asyncDispose]()
  })

  const look = (changes: Partial<ConsumerContract> = {}, access: Partial<LiveAccess> = {}) =>
    liveFindings([consumerWith({ source: postgresQueue('q'), ...changes })], {
      databaseUrl: server.url,
      environment,
      ...access,
    })
  const textOf = (found: readonly Finding[], id: string) => found.find(one => one.id === id)?.found ?? ''

  async function shown(
    id: string,
    wrong: () => Promise<unknown>,
    right: () => Promise<unknown>,
    changes = {},
  ) {
    await wrong()
    const first = await look(changes)
    await right()
    seen.note(id, first, await look(changes))
    return textOf(first, id)
  }

  test('there is no schema, and the check creates none; then there is', async () => {
    const first = await look()
    const { rows } = await pool.query(
      `select count(*)::int as n from pg_namespace where nspname = 'onceward'`,
    )
    assert.equal(rows[0].n, 0)
    await migrate(pool, { environment })
    seen.note('OW415', first, await look())
  })

  test('settings that make commits durable are off, then on', async () => {
    const restarted = (fsync: string) => async () => {
      await server.stop()
      await server.start({ fsync })
    }
    assert.match(await shown('OW402', restarted('off'), restarted('on')), /fsync is off/)
    const { rows } = await pool.query('select current_database() as name')
    const commits = (value: string) => () =>
      pool.query(`alter database ${rows[0].name} set synchronous_commit = ${value}`)
    assert.match(await shown('OW404', commits('off'), commits('on')), /synchronous_commit is off/)
    const set = (name: string, value: string) => async () => {
      await pool.query(`alter system set ${name} = ${value}`)
      await pool.query('select pg_reload_conf()')
      await until(`${name} is ${value}`, async () => {
        const fresh = new pg.Client(server.url)
        await fresh.connect()
        const { rows } = await fresh.query(`select current_setting('${name}') = '${value}' as set`)
        await fresh.end()
        return rows[0].set
      })
    }
    for (const [id, name] of [
      ['OW403', 'full_page_writes'],
      ['OW409', 'autovacuum'],
    ] as const)
      assert.match(await shown(id, set(name, 'off'), set(name, 'on')), new RegExp(`${name} is off`))
  })

  test('autovacuum is switched off for one table', async () => {
    await pool.query('alter table onceward.inbox set (autovacuum_enabled = false)')
    assert.match(textOf(await look(), 'OW409'), /switched off for onceward\.inbox/)
    await pool.query('alter table onceward.inbox reset (autovacuum_enabled)')
    assert.equal(textOf(await look(), 'OW409'), '')
  })

  test('defaults of the database are read-only or strict, then not', async () => {
    const { rows } = await pool.query('select current_database() as name')
    const set = (name: string, value: string | null) => () =>
      pool.query(
        `alter database ${rows[0].name} ${value === null ? `reset ${name}` : `set ${name} = ${value}`}`,
      )
    await shown('OW405', set('default_transaction_read_only', 'on'), async () => {
      const client = new pg.Client(server.url)
      await client.connect()
      await client.query('set default_transaction_read_only = off')
      await client.query(`alter database ${rows[0].name} reset default_transaction_read_only`)
      await client.end()
    })
    await shown(
      'OW406',
      set('default_transaction_isolation', `'serializable'`),
      set('default_transaction_isolation', null),
    )
  })

  test('tables are bloated, then vacuumed', async () => {
    await pool.query('alter table onceward.note set (autovacuum_enabled = false)')
    const client = new pg.Client(server.url)
    await client.connect()
    await client.query(
      `insert into onceward.note (consumer_id, message_id, code, detail) select 1, n::text, 'c', '' from generate_series(1, 20000) n`,
    )
    await client.query('select pg_stat_force_next_flush()')
    await client.query('delete from onceward.note')
    await client.end()
    await until('the server has counted', async () => textOf(await look(), 'OW410') !== '')
    const first = await look()
    await pool.query('vacuum onceward.note')
    await until('the server has counted', async () => textOf(await look(), 'OW410') === '')
    await pool.query('alter table onceward.note reset (autovacuum_enabled)')
    seen.note('OW410', first, await look())
  })

  test('the server is another copy than the one accepted, then accepted', async () => {
    await pool.query('create table life as select * from onceward.server_incarnation')
    await pool.query('update onceward.server_incarnation set database_oid = 1')
    const first = await look()
    await pool.query(
      'update onceward.server_incarnation l set database_oid = s.database_oid from life s where s.id = l.id',
    )
    seen.note('OW417', first, await look())
  })

  test('a clock is a minute wrong, then hours, then right', async () => {
    const by = (ms: number) => look({}, { wallMs: () => Date.now() + ms })
    const [right, minute, hours] = [await by(0), await by(60_000), await by(-5 * hour)]
    seen.note('OW411', minute, right)
    seen.note('OW412', hours, right)
    assert.match(textOf(hours, 'OW412'), /ahead of/)
  })

  test('a login has no rights, then those of its role; a superuser has too many', async () => {
    await pool.query('select onceward.create_roles()')
    await pool.query(`create role app login password 'p'`)
    const url = new URL(server.url)
    url.username = 'app'
    url.password = 'p'
    const asApp = () => look({}, { databaseUrl: url.href })
    const none = await asApp()
    await pool.query('grant usage on schema onceward to app')
    await pool.query('grant select on all tables in schema onceward to app')
    const some = await asApp()
    await pool.query('grant onceward_run to app')
    const enough = await asApp()
    assert.match(textOf(none, 'OW413'), /usage on schema onceward/)
    assert.match(textOf(some, 'OW413'), /delete on onceward\.attempt.* and \d+ more/)
    seen.note('OW413', some, enough)
    for (const right of ['update on onceward.outbox_bucket', 'insert on onceward.held_action']) {
      await pool.query(`revoke ${right} from onceward_run`)
      assert.match(textOf(await asApp(), 'OW413'), new RegExp(`app has no right to ${right}$`))
      await pool.query(`grant ${right} to onceward_run`)
    }
    await pool.query('revoke execute on function onceward.register_reader from onceward_run')
    assert.match(textOf(await asApp(), 'OW413'), /execute on onceward\.register_reader/)
    await pool.query('select onceward.create_roles()')
    seen.note('OW414', await look(), enough)
  })

  test('the rights that are looked at are those that create_roles gives', async () => {
    const { readDatabase } = await import('../../src/drivers/postgres/server/read-database.ts')
    await pool.query('create role newcomer login')
    await pool.query('grant usage on schema onceward to newcomer')
    const { rows: given } = await pool.query(`
      select right_name || ' on onceward.' || c.relname as given
      from pg_class c cross join unnest(array['select', 'insert', 'update', 'delete']) right_name
      where c.relnamespace = 'onceward'::regnamespace and c.relkind in ('r', 'p')
        and (has_table_privilege('onceward_run', c.oid, right_name)
          or right_name in ('insert', 'update') and has_any_column_privilege('onceward_run', c.oid, right_name))
      union all
      select 'execute on onceward.' || proname from pg_proc p
      where p.pronamespace = 'onceward'::regnamespace and has_function_privilege('onceward_run', p.oid, 'execute')
      order by 1`)
    const url = new URL(server.url)
    url.searchParams.set('options', '-c role=newcomer')
    const newcomer = createPool(url.href, { max: 2 })
    const { missingRights } = await readDatabase(newcomer).finally(() => newcomer.end())
    assert.deepEqual(
      missingRights,
      given.map(row => row.given),
    )
  })

  test('a transaction is open for long, by the clock of the server', async t => {
    // Hours cannot be waited for: that the age is read is shown here, the limit on facts in rules.test.ts.
    const { readDatabase } = await import('../../src/drivers/postgres/server/read-database.ts')
    const idle = new pg.Client(server.url)
    await idle.connect()
    t.after(() => idle.end())
    await idle.query('begin; select txid_current()')
    const { oldestTransactionSeconds } = await readDatabase(pool)
    assert.ok(oldestTransactionSeconds > 0)
    const url = new URL(server.url)
    url.searchParams.set('options', '-c role=onlooker')
    const asOnlooker = async () => textOf(await look({}, { databaseUrl: url.href }), 'OW902')
    await pool.query('create role onlooker')
    assert.match(await asOnlooker(), /onlooker may not see the age of transactions of other logins/)
    await pool.query('grant pg_read_all_stats to onlooker')
    assert.equal(await asOnlooker(), '')
  })

  test('names, generations, environments and memory', async () => {
    await pool.query(
      `insert into onceward.consumer (name, generation, owner, risk) values ('payments_old', 1, 'o', 'money'), ('clean', 2, 'o', 'money')`,
    )
    await pool.query(
      `insert into onceward.inbox (consumer_id, run_id, status, message_id, digest)
       select id, 1, 'applied', 'm', '' from onceward.consumer where name = 'payments_old'`,
    )
    const renamed = await look({ name: 'payments' })
    const known = await look({ name: 'payments_old' })
    seen.note('OW505', renamed, known)
    seen.note('OW506', await look(), await look({ generation: 2 }))
    const byVersion = { dedup: 'version', ...projected(), identity: { id: () => '1' } } as const
    seen.note('OW507', await look({ name: 'payments_old', ...byVersion }), known)
    await pool.query(
      `insert into onceward.reader (consumer_name, kind, source, consumer_group, position_kept_by) values ('payments_old', 'postgres', 'q', '', 'queue')`,
    )
    seen.note('OW509', await look({ name: 'payments' }), known)
    await pool.query('delete from onceward.reader')
    seen.note('OW503', await look({}, { environment: 'staging' }), known)
    seen.note('OW504', await look({}, { environment: undefined }), known)
    assert.match(textOf(renamed, 'OW505'), /markers of payments_old/)
  })

  const projected = () => ({
    handle: undefined as never,
    effect: {
      apply: projection({
        table: 'case_view',
        key: { id: 'id' },
        version: { version: 'version' },
        columns: { state: 'state' },
        gap: 'skips allowed',
      }),
    } as never,
  })

  test('a declared effect has no table, then a fitting one; the check writes nothing', async () => {
    const text = await shown(
      'OW508',
      async () => {},
      () => pool.query('create table case_view (id text primary key, version bigint not null, state text)'),
      { generation: 2, ...projected() },
    )
    assert.match(text, /case_view/)
    const greedy = {
      kind: 'greedy',
      problems: () => [],
      apply: async () => {},
      verify: async (query: (text: string) => Promise<unknown>) =>
        void (await query('create table stolen (x int)')),
    }
    const found = await look({
      generation: 2,
      handle: undefined as never,
      effect: { apply: greedy as never },
    })
    assert.match(textOf(found, 'OW508'), /read-only transaction/)
  })

  test('a queue that is published to is missing, then exists; a queue in another database is not queried', async () => {
    const publish = { next: { broker: 'postgres', queue: 'checked.next' } } as const
    const contract = { generation: 2, effect: { publish } }
    const first = await look(contract)
    assert.deepEqual(
      first.filter(one => one.id === 'OW511').map(one => one.found),
      ['effect.publish.next: queue checked.next does not exist in this database'],
    )
    await createQueue(pool, 'checked.next')
    seen.note('OW511', first, await look(contract))
    const elsewhere = await look({ source: postgresQueue('far', { url: 'postgres://me:secret@far/db' }) })
    assert.match(textOf(elsewhere, 'OW902'), /queue far is in another database/)
    assert.doesNotMatch(JSON.stringify(elsewhere), /secret/)
  })

  test('markers declared in days are in the common table, then in days', async () => {
    const identity = { id: () => '1', idTime: 'uuidv7' } as const
    const contract = {
      name: 'in_days',
      identity,
      retention: { markers: '30d', partitions: 'daily' },
    } as const
    await pool.query(
      `insert into onceward.consumer (name, generation, owner, risk) values ('in_days', 1, 'tests', 'money')`,
    )
    await shown(
      'OW512',
      async () => {},
      () => partitionConsumer(pool, consumerWith({ source: postgresQueue('q'), ...contract })),
      contract,
    )
  })

  test('a server that is unavailable or silent is a finding, without its password', async t => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    t.after(() => silent.close())
    const { port } = silent.address() as { port: number }
    for (const at of ['127.0.0.1:1', `127.0.0.1:${port}`]) {
      const found = await look({}, { databaseUrl: `postgres://me:secret@${at}/shop`, timeoutMs: 1_000 })
      assert.equal(found.filter(one => one.id === 'OW901').length, 1)
      assert.doesNotMatch(JSON.stringify(found), /secret/)
    }
  })

  let withoutPooler: string | null = null

  test('a pooler is detected, with its mode', async t => {
    const bouncer = await ensurePgbouncer(await postgresUrl())
    if ('unavailable' in bouncer) {
      withoutPooler = bouncer.unavailable
      return t.skip(withoutPooler)
    }
    const database = await createDatabase()
    t.after(() => database.drop())
    const through = new URL(bouncer.url)
    through.pathname = `/${database.name}`
    const first = await look({}, { databaseUrl: through.href })
    const direct = await look({}, { databaseUrl: database.url })
    assert.match(textOf(first, 'OW408'), /transaction mode/)
    seen.note('OW408', first, direct)
  })

  test('every rule over PostgreSQL and memory was seen, where a test can show it', () => {
    const ids = [...postgresRules, ...memoryRules].map(rule => rule.id)
    const missing = seen.missing(ids, {
      OW401: 'needs a server of 2021: on facts',
      OW407: 'needs a pooler nobody can use us with: on facts',
      OW416: 'needs an hour: the age is read above, the limit is on facts',
      OW501: 'in live-kafka.test.ts',
      OW510: 'in live-kafka.test.ts',
      OW502: 'in cli.test.ts',
      ...(withoutPooler !== null && { OW408: withoutPooler }),
    })
    assert.deepEqual(missing, [])
  })
})
