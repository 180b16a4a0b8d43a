import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createPool, migrate } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { identify } from '../../src/runtime/embedded/process-identity.ts'
import { skipWithoutDisks, startPrivatePostgres } from '../services/private-postgres.ts'
import { startCounting } from './counting.ts'

const disks = skipWithoutDisks()
const messages = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, n) => ({ id: `${prefix}${n}`, key: `k${n % 50}` }))
const table = 'create table count (key text primary key, times integer not null)'
const megabyte = 1024 * 1024

describe('a disk that is full', disks, () => {
  test('where the data is: nothing is settled, no attempt is used, and work continues automatically when there is room', async () => {
    await using server = await startPrivatePostgres()
    const disk = server.makeDisk(8 * megabyte)
    const pool = createPool(server.url, { max: 2 })
    await migrate(pool)
    await pool.query(table)
    await pool.query(`create tablespace small location '${disk.folder}'`)
    for (const one of ['onceward.inbox', 'count']) await pool.query(`alter table ${one} set tablespace small`)
    await pool.query('alter index onceward.inbox_pkey set tablespace small')
    await using consumer = await startCounting(server.url)
    consumer.publish(...messages('before', 100))
    await until('the first are settled', () => consumer.queue.unsettled === 0)

    disk.fill(0, 16 * megabyte)
    consumer.publish(...messages('during', 5_000))
    await until('the disk is full', () => consumer.process.tally.storeUnavailable, { deadlineMs: 30_000 })
    assert.ok(consumer.queue.unsettled > 0)
    assert.equal(consumer.process.state, 'running')
    assert.equal((await pool.query('select 1 as one')).rows[0].one, 1, 'the server lives')

    disk.empty()
    await until('all is settled', () => consumer.queue.unsettled === 0, { deadlineMs: 60_000 })
    const { rows } = await pool.query('select sum(times)::int as sum from count')
    assert.equal(rows[0].sum, 5_100)
    assert.equal((await pool.query('select count(*)::int from onceward.attempt')).rows[0].count, 0)
    assert.equal((await pool.query('select count(*)::int from onceward.held')).rows[0].count, 0)
    await pool.end()
  })

  test('where the WAL is: the server panics and stays down, and once it is back work continues automatically', async () => {
    await using server = await startPrivatePostgres({ walOnDiskOf: 96 * megabyte })
    const pool = createPool(server.url, { max: 2 })
    await migrate(pool)
    await pool.query(table)
    await using consumer = await startCounting(server.url)
    consumer.publish(...messages('before', 100))
    await until('the first are settled', () => consumer.queue.unsettled === 0)

    server.wal!.fill(0, 128 * megabyte)
    const life = identify(server.pid)
    let published = 100
    let batch = 0
    await until(
      'the server is gone',
      async () => {
        if (consumer.queue.unsettled === 0) {
          consumer.publish(...messages(`load${batch++}-`, 2_000))
          published += 2_000
        }
        await pool.query(`select pg_logical_emit_message(false, 'x', repeat('x', 1000000))`).catch(() => {})
        return identify(server.pid)?.started !== life?.started
      },
      { deadlineMs: 60_000 },
    )
    consumer.publish(...messages('while-down', 500))
    published += 500
    await until('the consumer notices', () => consumer.process.tally.storeUnavailable, { deadlineMs: 30_000 })
    assert.equal(consumer.process.state, 'running')
    assert.ok(consumer.queue.unsettled >= 500)

    server.wal!.empty()
    await server.start()
    await until('all is settled', () => consumer.queue.unsettled === 0, { deadlineMs: 60_000 })
    const { rows } = await pool.query('select sum(times)::int as sum from count')
    assert.equal(rows[0].sum, published)
    await pool.end()
  })
})
