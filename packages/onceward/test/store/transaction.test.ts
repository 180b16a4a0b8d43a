import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { createPool, createPostgresStore, migrate } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { createDatabase, skipWithout } from '../services/services.ts'

const facts = {
  name: 'patient',
  generation: 1,
  owner: 'tests',
  risk: 'low value',
  mode: 'live',
  handlerVersion: '1',
  instance: 'test',
  handlerTimeoutMs: 30_000,
  deliveriesMax: 100,
  dedup: 'marker' as const,
  deadLetterTo: null,
}

describe('a transaction', await skipWithout('postgres'), () => {
  async function openStore(t: TestContext) {
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 3 })
    t.after(async () => {
      await pool.end()
      await database.drop()
    })
    await migrate(pool)
    return createPostgresStore({ pool })
  }

  test('begins also with the longest time a contract may give a handler', async t => {
    const store = await openStore(t)
    const enrolment = await store.enroll({ ...facts, handlerTimeoutMs: 2 ** 31 - 1 })
    const claim = { id: 'a', digest: Buffer.alloc(33), position: null }
    const answers = await store.transaction(enrolment, session => session.insertMarkers([claim]))
    assert.deepEqual(answers, [{ kind: 'first' }])
  })

  test('that counts attempts of an id beside another, with no marker between them, is run again', async t => {
    const store = await openStore(t)
    const enrolment = await store.enroll({ ...facts, dedup: 'checkpoint' })
    const failure = { id: 'a', failureClass: 'transient', code: 'x', error: 'x', place: '' }
    const counted = Promise.withResolvers<void>()
    const asked = Promise.withResolvers<void>()
    const first = store.transaction(enrolment, async session => {
      await session.countAttempts([failure])
      counted.resolve()
      await asked.promise
    })
    await counted.promise
    const second = store.transaction(enrolment, session => session.countAttempts([failure]))
    await until('it waits', async () => {
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return (await store.pool.query(waiting)).rowCount === 1
    })
    asked.resolve()
    await assert.rejects(second, error => store.diagnose(error) === 'contention')
    await first
    const counts = await store.transaction(enrolment, session => session.countAttempts([failure, failure]))
    assert.deepEqual(
      counts.map(({ total, same }) => [total, same]),
      [
        [2, 2],
        [3, 3],
      ],
    )
  })

  test('that finishes work marks it applied also when the marker changes concurrently', async t => {
    const store = await openStore(t)
    const enrolment = await store.enroll(facts)
    const digest = Buffer.alloc(33)
    const kept = {
      id: 'a',
      digest,
      orderKey: null,
      businessKey: null,
      businessDigest: null,
      keyless: false,
      origin: 'here',
      position: null,
    }
    const message = {
      ...kept,
      brokerKey: null,
      deliveryCount: 0,
      headers: '{}',
      properties: '{}',
      messageType: null,
      schemaVersion: null,
      producer: null,
      correlationId: null,
      aggregateId: null,
      aggregateVersion: null,
      body: digest,
    }
    await store.transaction(enrolment, async session => {
      await session.insertMarkers([{ id: 'a', digest, position: null }], 'stored')
      await session.held!.keep([message], null)
    })
    const { rows } = await store.pool.query('select id::text as row, epoch, null as key from onceward.held')
    const hand = await store.pool.connect()
    await hand.query(`begin; update onceward.inbox set reason = 'looked at'`)
    const finished = store.transaction(enrolment, session => session.held!.finish(rows, []))
    await until('it waits', async () => {
      const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      return (await store.pool.query(waiting)).rowCount === 1
    })
    await hand.query('commit')
    hand.release()
    await finished
    const markers = await store.pool.query(
      'select status::text, (select count(*)::integer from onceward.held) as held from onceward.inbox',
    )
    assert.deepEqual(markers.rows, [{ status: 'applied', held: 0 }])
  })
})
