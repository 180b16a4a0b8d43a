import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineConsumer, runConsumer } from 'onceward'
import { runRelay } from 'onceward/outbox'
import { createPool, createPostgresStore, migrate, postgresQueue } from 'onceward/postgres'
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

describe('migrations', await skipWithout('postgres'), () => {
  test('eight processes migrating at once leave one schema', async () => {
    await using database = await freshDatabase()
    const pools = Array.from({ length: 8 }, () => createPool(database.url, { max: 1 }))
    const results = await Promise.all(pools.map(pool => migrate(pool)))
    await Promise.all(pools.map(pool => pool.end()))
    assert.equal(results.filter(result => result.applied.includes('spine')).length, 1)
    assert.deepEqual(new Set(results.map(result => result.to)).size, 1)
  })

  test('a database without the schema is refused with what to do', async () => {
    await using database = await freshDatabase()
    await using store = closing(createPostgresStore({ url: database.url }))
    await assert.rejects(store.enroll(facts), { code: 'schema_missing', message: /onceward migrate/ })
  })

  test('a schema older than the code is refused; a newer one only when it says so', async () => {
    await using database = await freshDatabase()
    await migrate(database.pool)
    await using store = closing(createPostgresStore({ url: database.url }))
    await store.enroll(facts)

    await database.pool.query(
      `insert into onceward.migration (version, name, compatible_from) values (900, 'later', 1)`,
    )
    await store.enroll(facts)
    await database.pool.query('update onceward.migration set compatible_from = 900 where version = 900')
    await assert.rejects(store.enroll(facts), { code: 'schema_too_new', message: /newer version/ })
    await database.pool.query('delete from onceward.migration where version > 0')
    await database.pool.query(
      `insert into onceward.migration (version, name, compatible_from) values (0, 'earlier', 0)`,
    )
    await assert.rejects(store.enroll(facts), { code: 'schema_too_old', message: /onceward migrate/ })
  })

  test('the database of another environment is refused and left alone', async () => {
    await using database = await freshDatabase()
    await migrate(database.pool, { environment: 'staging' })
    await using store = closing(createPostgresStore({ url: database.url, environment: 'production' }))
    await assert.rejects(store.enroll(facts), { code: 'wrong_environment', message: /"staging"/ })
    await assert.rejects(migrate(database.pool, { environment: 'production' }), { code: 'wrong_environment' })
    const { rows } = await database.pool.query('select count(*)::int from onceward.consumer')
    assert.equal(rows[0].count, 0)
  })

  for (const encoding of ['LATIN1', 'SQL_ASCII'] as const) {
    test(`a database encoded in ${encoding} is refused by migrate and left alone`, async () => {
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
