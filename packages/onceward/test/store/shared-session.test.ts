import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { SqlTransaction } from 'onceward'
import { createPool, createPostgresStore } from 'onceward/postgres'
import pg from 'pg'
import { inTransaction } from '../../src/drivers/postgres/in-transaction.ts'
import { leaseEffects } from '../../src/drivers/postgres/ledger/lease-effects.ts'
import { recordResults } from '../../src/drivers/postgres/ledger/record-results.ts'
import type { SqlPool } from '../../src/drivers/postgres/pool.ts'
import { proveReplicated } from '../../src/drivers/postgres/replication.ts'
import { takePartitions } from '../../src/drivers/postgres/sql/own-partitions.ts'
import { factsOf } from '../../src/testing/conformance/store-bench.ts'
import { type Library, libraries } from '../adapters/libraries.ts'
import { openEffects, startConsumer } from '../adapters/rig.ts'
import { ensurePgbouncer, skipWithout } from '../services/services.ts'

const settings = `concat_ws(' ', current_setting('synchronous_commit'), current_setting('client_min_messages'))`
const ofRole = 'local log'
const change = 'set synchronous_commit = off; set client_min_messages = error'

const pooled = {
  name: 'the pooled store',
  open(url, options) {
    const store = createPostgresStore({ url, ...options })
    return { store, close: () => store.close() }
  },
  write: (tx, key) => tx.query('insert into effect (key) values ($1)', [key]),
  send: (tx, text) => tx.query(text),
} satisfies Library<SqlTransaction> as Library<unknown>

/** A database whose sessions begin with non-default settings. */
async function openDatabase() {
  const database = await openEffects()
  const name = new URL(database.url).pathname.slice(1)
  await database.pool.query(`alter database ${name} set synchronous_commit = 'local'`)
  await database.pool.query(`alter database ${name} set client_min_messages = 'log'`)
  return database
}

/** More server connections than a small consumer needs, each changed by a client that has disconnected. */
async function changeSessions(url: string): Promise<void> {
  const clients = Array.from({ length: 12 }, () => new pg.Client(url))
  await Promise.all(clients.map(client => client.connect()))
  await Promise.all(clients.map(client => client.query('begin')))
  await Promise.all(clients.map(client => client.query(`${change}; commit`)))
  const { rows } = await clients[0]!.query(`select ${settings} as found`)
  assert.deepEqual(rows, [{ found: 'off error' }], 'the pooler passes on the settings of another client')
  await Promise.all(clients.map(client => client.end()))
}

describe('settings of another client of a pooler', await skipWithout('postgres'), () => {
  for (const library of [pooled, ...libraries]) {
    test(`do not affect a batch of ${library.name}, which has those of its role`, async t => {
      await using database = await openDatabase()
      const bouncer = await ensurePgbouncer(database.url)
      if ('unavailable' in bouncer) return t.skip(bouncer.unavailable)
      await changeSessions(bouncer.url)
      await using consumer = await startConsumer(bouncer.url, library, {
        async handle({ message, tx }) {
          if (message.id === 'own') await library.send(tx, `set local synchronous_commit = remote_write`)
          await library.send(tx, `insert into effect (key) select '${message.id} ' || ${settings}`)
        },
        batch: { sizeMax: 1, inFlightMax: 1 },
      })
      consumer.publish('a', 'own')
      await consumer.settled()
      assert.deepEqual(await database.effects(), [`a ${ofRole}`, 'own remote_write log'])
    })
  }

  test('do not affect other durable statements', async () => {
    await using database = await openDatabase()
    const store = createPostgresStore({ pool: database.pool })
    const enrolment = await store.enroll(factsOf('durable'))
    await database.pool.query(
      `insert into onceward.ledger (consumer_name, target, effect_key, message_id, run_id, request_digest, content_type, body)
       values ('durable', 'bank', 'k', 'm', $1, '', 'text/plain', '')`,
      [enrolment.runId],
    )
    const found: Record<string, string> = {}
    const atCommit = async (name: string, work: (pool: SqlPool) => Promise<unknown>) => {
      found[name] = await settingsAtCommit(database.url, work)
    }
    const target = { name: 'bank', slots: 1, attemptsMax: 3, leaseMs: 60_000, delayMaxMs: 60_000 }
    await atCommit('a transaction', pool => inTransaction(pool, client => client.query('select 1')))
    await atCommit('a lease of effects', pool => leaseEffects(pool, 'durable', [target]))
    const { rows } = await database.pool.query('select id, epoch from onceward.ledger')
    const result = { ...rows[0], state: 'completed', attempts: 1 }
    await atCommit('a result', async pool => assert.deepEqual(await recordResults(pool, [result]), [true]))
    await atCommit('partitions', pool => takePartitions(pool, enrolment, ['0']))
    await atCommit('the heartbeat', pool => proveReplicated({ query: pool.query }))
    assert.deepEqual([...new Set(Object.values(found))], [ofRole], JSON.stringify(found))
    assert.equal(Object.keys(found).length, 5)
  })
})

/**
 * Runs `work` on one connection that another client has changed, and reads the settings just before COMMIT.
 */
async function settingsAtCommit(url: string, work: (pool: SqlPool) => Promise<unknown>): Promise<string> {
  const own = createPool(url, { max: 1 })
  const client = await own.connect()
  let found = ''
  const look = async () => {
    found = (await client.query(`select ${settings} as found`)).rows[0].found
  }
  const alone: SqlPool['query'] = async (text, values) => {
    await client.query('begin')
    const answer = await client.query(text, values)
    await look()
    await client.query('commit')
    return answer
  }
  const lent = {
    query: async (text: string, values?: readonly unknown[]) => {
      if (text === 'commit') await look()
      return client.query(text, values)
    },
    release: () => {},
    on: () => {},
    removeListener: () => {},
  }
  try {
    await client.query(change)
    await work({ query: alone, connect: async () => lent as never, end: async () => {} })
    return found
  } finally {
    client.release()
    await own.end()
  }
}
