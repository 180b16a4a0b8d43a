import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineConsumer, runConsumer } from 'onceward'
import { runRelay } from 'onceward/outbox'
import { createPool, createPostgresStore, migrate, postgresQueue } from 'onceward/postgres'
import { assertSchema } from '../../src/drivers/postgres/assert-usable.ts'
import { applyMigrations } from '../../src/drivers/postgres/migrate.ts'
import { type Migration, migrations } from '../../src/drivers/postgres/migrations/index.ts'
import { createEmptyDatabase, skipWithout } from '../services/services.ts'

const facts = {
  name: 'gate',
  generation: 1,
  owner: 'tests',
  risk: 'money',
  mode: 'live',
  handlerVersion: '1',
  instance: 'test',
  handlerTimeoutMs: 1_000,
  deliveriesMax: 100,
  dedup: 'marker' as const,
  deadLetterTo: null,
}

/** The newest version of this code. */
const last = migrations.at(-1)!.version

describe('migrations', await skipWithout('postgres'), () => {
  test('eight concurrent migrations create one schema', async () => {
    await using database = await freshDatabase()
    const pools = Array.from({ length: 8 }, () => createPool(database.url, { max: 1 }))
    const results = await Promise.all(pools.map(pool => migrate(pool)))
    await Promise.all(pools.map(pool => pool.end()))
    assert.equal(results.filter(result => result.applied.includes('first set')).length, 1)
    assert.deepEqual(new Set(results.map(result => result.to)).size, 1)
  })

  test('a database without the schema is refused with what to do', async () => {
    await using database = await freshDatabase()
    await using store = closing(createPostgresStore({ url: database.url }))
    await assert.rejects(store.enroll(facts), { code: 'schema_missing', message: /onceward migrate/ })
  })

  test('a schema older than the code is refused, and so is a newer one unless it supports the code', async () => {
    await using database = await freshDatabase()
    await migrate(database.pool)
    await using store = closing(createPostgresStore({ url: database.url }))
    await store.enroll(facts)
    await assert.rejects(assertSchema(database.pool, [...migrations, note(last + 1)]), {
      code: 'schema_too_old',
      message: /onceward migrate/,
    })
    await applyMigrations(database.pool, [...migrations, note(last + 1)])
    await store.enroll(facts)
    await applyMigrations(database.pool, [
      ...migrations,
      note(last + 1),
      note(last + 2, { compatibleFrom: last + 2 }),
    ])
    await assert.rejects(store.enroll(facts), { code: 'schema_too_new', message: /newer version/ })
    await applyMigrations(database.pool, [...migrations, note(last + 1), note(last + 2), note(last + 3)])
    await assert.rejects(
      store.enroll(facts),
      { code: 'schema_too_new' },
      'a later migration does not readmit older code',
    )
  })

  test('a migration of an upgrade is applied once, by the first process', async () => {
    await using database = await freshDatabase()
    await migrate(database.pool)
    const list = [...migrations, note(last + 1), note(last + 2)]
    const results = await Promise.all([1, 2].map(() => applyMigrations(database.pool, list)))
    assert.deepEqual(results.flatMap(result => result.applied).sort(), [
      `note ${last + 1}`,
      `note ${last + 2}`,
    ])
    assert.deepEqual(await applyMigrations(database.pool, list), {
      from: last + 2,
      to: last + 2,
      applied: [],
    })
  })

  test('a failed migration is rolled back, earlier ones stay, and the next call continues', async () => {
    await using database = await freshDatabase()
    await migrate(database.pool)
    const broken = note(last + 2, { sql: 'create table onceward.half (id integer); select 1 / 0' })
    const steps = [...migrations, note(last + 1)]
    await assert.rejects(applyMigrations(database.pool, [...steps, broken]), /division by zero/)
    const { rows } = await database.pool.query(
      `select max(version) as version, to_regclass('onceward.half') as half from onceward.migration`,
    )
    assert.deepEqual(rows, [{ version: last + 1, half: null }])
    assert.deepEqual(await applyMigrations(database.pool, [...steps, note(last + 2)]), {
      from: last + 1,
      to: last + 2,
      applied: [`note ${last + 2}`],
    })
  })

  test('a schema of an unreleased version is refused by migrate and at start, and stays unchanged', async () => {
    await using database = await freshDatabase()
    const unreleased = {
      version: 1,
      name: 'spine',
      sql: 'create table onceward.outbox ()',
      compatibleFrom: 1,
    }
    await applyMigrations(database.pool, [unreleased, note(2)])
    await using store = closing(createPostgresStore({ url: database.url }))
    const refusal = (end: RegExp) => ({ code: 'configuration', message: end })
    await assert.rejects(
      migrate(database.pool, { environment: 'production' }),
      refusal(/unreleased version.*"spine".*Nothing was changed.*create a new database/),
    )
    await assert.rejects(store.enroll(facts), refusal(/unreleased version.*Nothing was started/))
    const { rows } = await database.pool.query(
      `select (select count(*)::int from onceward.migration) as steps, to_regclass('onceward.consumer') as made,
         (select count(*)::int from onceward.environment) as named`,
    )
    assert.deepEqual(rows, [{ steps: 2, made: null, named: 0 }])
  })

  test('the database of another environment is refused and stays unchanged', async () => {
    await using database = await freshDatabase()
    await migrate(database.pool, { environment: 'staging' })
    await using store = closing(createPostgresStore({ url: database.url, environment: 'production' }))
    await assert.rejects(store.enroll(facts), { code: 'wrong_environment', message: /"staging"/ })
    await assert.rejects(migrate(database.pool, { environment: 'production' }), { code: 'wrong_environment' })
    const { rows } = await database.pool.query('select count(*)::int from onceward.consumer')
    assert.equal(rows[0].count, 0)
  })

  for (const encoding of ['LATIN1', 'SQL_ASCII'] as const) {
    test(`a database encoded in ${encoding} is refused by migrate and stays unchanged`, async () => {
      await using database = await freshDatabase(encoding)
      const refusal = { code: 'configuration', message: new RegExp(`${encoding}; Onceward needs UTF8`) }
      await assert.rejects(migrate(database.pool), refusal)
      const { rows } = await database.pool.query(`select to_regnamespace('onceward') as schema`)
      assert.equal(rows[0].schema, null)
    })
  }

  test('a database encoded in LATIN1 is refused at start by consumers and relays', async () => {
    await using database = await freshDatabase('LATIN1')
    const refusal = { code: 'configuration', message: /LATIN1; Onceward needs UTF8.*Nothing was started/ }
    await using store = closing(createPostgresStore({ url: database.url }))
    await assert.rejects(store.enroll(facts), refusal)
    const consumer = defineConsumer({
      name: 'gate',
      owner: 'tests',
      risk: 'money',
      source: postgresQueue('q'),
      identity: { id: (m: { id: string }) => m.id },
      handle: async () => {},
    })
    await assert.rejects(runConsumer(consumer, { databaseUrl: database.url }), refusal)
    await assert.rejects(runRelay({ databaseUrl: database.url, brokers: ['cdc'] }), refusal)
  })

  test('connections with another client encoding are refused', async () => {
    await using database = await freshDatabase()
    const client = await database.pool.connect()
    await client.query(`set client_encoding = 'LATIN1'`)
    client.release()
    await assert.rejects(migrate(database.pool), { code: 'configuration', message: /client_encoding LATIN1/ })
  })
})

/** A migration that is not in the list yet. */
const note = (version: number, changes: Partial<Migration> = {}): Migration => ({
  version,
  name: `note ${version}`,
  sql: `create table onceward.note_${version} (id integer)`,
  compatibleFrom: 1,
  ...changes,
})

async function freshDatabase(encoding?: 'LATIN1' | 'SQL_ASCII') {
  const database = await createEmptyDatabase(encoding)
  const pool = createPool(database.url, { max: 2 })
  return {
    url: database.url,
    pool,
    async [Symbol.asyncDispose]() {
      await pool.end()
      await database.drop()
    },
  }
}

function closing<T extends { close(): Promise<void> }>(store: T): T & AsyncDisposable {
  return Object.assign(store, { [Symbol.asyncDispose]: () => store.close() })
}
