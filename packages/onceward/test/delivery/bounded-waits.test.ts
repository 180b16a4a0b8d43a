import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ConsumerProcess, defineConsumer, realEnvironment } from 'onceward'
import { MemoryQueue } from 'onceward/memory'
import { createPool, createPostgresStore } from 'onceward/postgres'
import { until } from 'onceward/testing'
import pg from 'pg'
import { purgeConsumer } from '../../src/operations/retention/purge-consumer.ts'
import { startProxyFor } from '../proxy/tcp-proxy.ts'
import { memoryScene, purgeOptions } from '../retention/scene.ts'
import { skipWithout } from '../services/services.ts'
import { countingDatabase, type Increment, increment, startCounting } from './counting.ts'

describe('every wait for the database is bounded', await skipWithout('postgres'), () => {
  /**
   * Our own limits with other numbers, so that a test need not wait a minute; a slow machine connects and
   * answers within them.
   */
  async function impatient(url: string, max: number) {
    const pool = new pg.Pool({
      connectionString: url,
      max,
      connectionTimeoutMillis: 3_000,
      query_timeout: 3_000,
      pipeline: true,
    } as pg.PoolConfig)
    pool.on('error', () => {})
    pool.on('connect', client => client.on('error', () => {}))
    const queue = new MemoryQueue()
    const process = new ConsumerProcess({
      consumer: defineConsumer<Increment>({
        name: 'counting',
        owner: 'tests',
        risk: 'money',
        source: { kind: 'memory' },
        identity: { id: m => m.id },
        handle: async ({ message, tx }) => void (await increment(tx, message.key)),
      }),
      source: queue,
      store: createPostgresStore({ pool: pool as never }),
      env: realEnvironment(),
      instance: 'test',
    })
    await process.start()
    const publish = (...ids: string[]) =>
      queue.publish(...ids.map(id => ({ body: JSON.stringify({ id, key: 'k' }) })))
    return { pool, queue, process, publish }
  }

  test('connections without an answer are closed, and work continues on new ones', async () => {
    await using database = await countingDatabase()
    const proxy = await startProxyFor(database.url)
    const { pool, queue, process, publish } = await impatient(proxy.through(database.url), 4)
    publish('before')
    await until('the first is settled', () => queue.unsettled === 0)
    proxy.pause()
    publish(...Array.from({ length: 20 }, (_, n) => `during${n}`))
    await until('the consumer gives up waiting', () => process.tally.storeUnavailable)
    assert.equal(queue.unsettled, 20)
    proxy.resume()
    await until('the rest is settled', () => queue.unsettled === 0)
    assert.equal(await database.times('k'), 21)
    await process.drain()
    await pool.end()
    await proxy.close()
  })

  test('the wait for an exhausted pool is bounded', async () => {
    await using database = await countingDatabase()
    const { pool, queue, process, publish } = await impatient(database.url, 2)
    const taken = await Promise.all([pool.connect(), pool.connect()])
    publish('a', 'b')
    await until('the consumer gives up waiting', () => process.tally.storeUnavailable)
    assert.equal(queue.unsettled, 2)
    for (const client of taken) client.release()
    await until('both are settled', () => queue.unsettled === 0)
    assert.equal(await database.times('k'), 2)
    await process.drain()
    await pool.end()
  })

  test('pools that Onceward creates have such limits', async () => {
    const pool = createPool('postgres://nobody@127.0.0.1:1/none')
    const { options } = pool as unknown as { options: Record<string, number> }
    assert.ok(options.connectionTimeoutMillis! > 0 && options.query_timeout! > 0)
    await pool.end()
  })

  test('a table locked by a migration: the consumer waits, loses nothing and uses no attempt', async () => {
    await using database = await countingDatabase()
    await using consumer = await startCounting(database.url, {}, { lockTimeoutMs: 100 })
    for (const table of ['onceward.inbox', 'count']) {
      const other = await database.pool.connect()
      await other.query(`begin; lock table ${table} in access exclusive mode`)
      consumer.publish(...Array.from({ length: 30 }, (_, n) => ({ id: `${table}${n}`, key: table })))
      const waits = `select count(*)::int from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
      const waiting = async () => (await other.query(waits)).rows[0].count as number
      await until('the lock is waited for', async () => (await waiting()) > 0)
      await until('and not for ever', async () => (await waiting()) === 0)
      assert.equal(consumer.process.state, 'running')
      assert.equal(consumer.queue.unsettled, 30)
      await other.query('commit')
      other.release()
      await until('all is settled', () => consumer.queue.unsettled === 0)
      assert.equal(await database.times(table), 30)
    }
    assert.deepEqual((await database.pool.query('select * from onceward.attempt')).rows, [])
    assert.deepEqual(await database.held(), [])
  })

  test('retention gives up on a locked table, and finishes later', async () => {
    await using scene = await memoryScene()
    await scene.markers('old-', 100, 40)
    const other = await scene.pool.connect()
    await other.query('begin; lock table onceward.inbox in access exclusive mode')
    await assert.rejects(purgeConsumer(purgeOptions(scene)), { code: '55P03' })
    await other.query('commit')
    other.release()
    assert.equal((await purgeConsumer(purgeOptions(scene))).removed.markers, 100)
  })
})
