import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { createPool, createPortStore, createPostgresStore, migrate, type SqlPort } from 'onceward/postgres'
import { replicationConformance, until } from 'onceward/testing'
import { createDispatcher } from '../../src/effects/external/dispatcher.ts'
import { realEnvironment } from '../../src/runtime/real-environment.ts'
import { factsOf } from '../../src/testing/conformance/store-bench.ts'
import { type Library, libraries, userPool } from '../adapters/libraries.ts'
import { readers } from '../conformance/postgres.ts'
import { Gateway } from '../effects/gateway.ts'
import { intend } from '../effects/scene.ts'
import { startWithStandby } from './synchronous-standby.ts'

const deadlineMs = 60_000
const servers = await startWithStandby(async url => {
  const pool = createPool(url, { max: 1 })
  await migrate(pool)
  await pool.query(
    'create table effect (seq bigint generated always as identity primary key, key text not null)',
  )
  await pool.end()
})
const { url, standby } = servers
const outside = createPool(url, { max: 3 })
const first = createPool(url, { max: 8 })
after(async () => {
  await Promise.all([outside.end(), first.end()])
  await servers[Symbol.asyncDispose]()
})

replicationConformance(
  'the PostgreSQL store',
  {
    create: async () => {
      const store = createPostgresStore({ pool: first })
      const apply = async (tx: Tx, key: string) =>
        void (await tx.query('insert into effect (key) values ($1)', [key]))
      return { store, second: store, apply, ...(await readers(outside)), close: async () => {} }
    },
  },
  standby,
)
type Tx = { query(text: string, values: unknown[]): Promise<unknown> }

for (const library of libraries) replicationConformance(library.name, factoryOf(library), standby)

describe('a library that does not pass on warnings', () => {
  const port = (pool: ReturnType<typeof userPool>): SqlPort<null> => ({
    dialect: 'postgres',
    query: (text, values) => pool.query(text, values as unknown[]),
    async transaction(_isolation, work) {
      const client = await pool.connect()
      await client.query('begin')
      const query = (text: string, values?: readonly unknown[]) => client.query(text, values as unknown[])
      try {
        const result = await work({ query, handle: () => null })
        await client.query('commit')
        return result
      } catch (error) {
        await client.query('rollback')
        throw error
      } finally {
        client.release()
      }
    },
  })
  const refusal = {
    code: 'configuration',
    message: /synchronous standby.*createKyselyStore\(db, \{ pool \}\)/,
  }

  test('is refused at start, and before each COMMIT', async () => {
    const pool = userPool(url)
    const store = createPortStore(port(pool))
    await assert.rejects(store.enroll(factsOf('deaf')), refusal)
    const enrolment = await createPostgresStore({ pool: first }).enroll(factsOf('deaf_later'))
    await assert.rejects(
      store.transaction(enrolment, async () => {}),
      refusal,
    )
    await pool.end()
  })

  test('a pool that Kysely does not use is noticed', async () => {
    const { Kysely, PostgresDialect } = await import('kysely')
    const { createKyselyStore } = await import('onceward/kysely')
    const [used, other] = [userPool(url), userPool(url)]
    const store = createKyselyStore(new Kysely({ dialect: new PostgresDialect({ pool: used }) }), {
      pool: other,
    })
    await assert.rejects(store.enroll(factsOf('other_pool')), { code: 'configuration', message: /not use/ })
    await Promise.all([store.close(), other.end()])
  })

  test('a role that gets no warnings is refused at start', async () => {
    const pool = userPool(url, { options: '-c client_min_messages=error' })
    const store = createPostgresStore({ pool: pool as never })
    const silent = { code: 'configuration', message: /client_min_messages is error/ }
    await assert.rejects(store.enroll(factsOf('silent')), silent)
    const dispatcher = createDispatcher({ ...dispatching, pool: pool as never, targets: {} })
    await assert.rejects(dispatcher.start(), silent)
    await pool.end()
  })
})

const dispatching = {
  pool: first,
  consumerName: 'payments',
  env: realEnvironment(),
  instance: 'test',
}

describe('a dispatcher on a server with a synchronous standby', () => {
  for (const ending of ['cancel', 'terminate'] as const)
    test(`makes no call for a lease that stopped waiting for the standby (${ending})`, async t => {
      const gateway = await new Gateway().open()
      const [consumerName, key] = [`payments_${ending}`, `key_${ending}`]
      await intend(outside, consumerName, [key])
      const target = { url: gateway.url, allowPrivate: true, policy: 'at most once' } as const
      const dispatcher = createDispatcher({ ...dispatching, consumerName, targets: { gateway: target } })
      t.after(async () => {
        dispatcher.leave()
        gateway.close()
        await standby.resume()
      })
      await standby.stop()
      await dispatcher.start()
      await until('the claim waits', async () => (await standby.endWaits(ending)) > 0, { deadlineMs })
      await until('it says so, or calls', () => dispatcher.tally.storeUnavailable || gateway.calls.length > 0)
      assert.deepEqual(gateway.calls, [])
      await standby.resume()
      await until('it is called', () => gateway.callsFor(key).length > 0, { deadlineMs })
      const stateOf = async () =>
        (
          await outside.query('select state::text, attempts from onceward.ledger where effect_key = $1', [
            key,
          ])
        ).rows[0]
      await until('it completes', async () => (await stateOf()).state === 'completed', { deadlineMs })
      assert.deepEqual([gateway.callsFor(key).length, (await stateOf()).attempts], [1, 1])
    })
})

function factoryOf<T>(library: Library<T>) {
  return {
    create: async () => {
      const opened = library.open(url)
      return {
        store: opened.store,
        second: opened.store,
        apply: async (tx: T, key: string) => void (await library.write(tx, key)),
        ...(await readers(outside)),
        close: async () => void (await opened.close()),
      }
    },
  }
}
