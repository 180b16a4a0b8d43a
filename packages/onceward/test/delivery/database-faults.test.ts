import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { until } from 'onceward/testing'
import { startProxyFor } from '../proxy/tcp-proxy.ts'
import { ensurePgbouncer, skipWithout } from '../services/services.ts'
import { countingDatabase, increment, startCounting } from './counting.ts'

describe('the store under faults', await skipWithout('postgres'), () => {
  test('a lost COMMIT reply is never guessed: the batch is run again and recognises itself', async () => {
    await using database = await countingDatabase()
    const proxy = await startProxyFor(database.url)
    await using consumer = await startCounting(proxy.through(database.url))
    for (let round = 0; round < 10; round++) {
      let dropped = false
      proxy.toServer(bytes => {
        if (bytes.includes('commit\0')) {
          dropped = true
          proxy.toClient(() => null)
        }
        return bytes
      })
      consumer.publish({ id: `m${round}`, key: `k${round}` })
      await until('the effect is durable', async () => (await database.times(`k${round}`)) === 1)
      assert.ok(dropped)
      assert.equal(consumer.queue.unsettled, 1, 'nothing is settled while the answer is unknown')
      proxy.toServer(null)
      proxy.toClient(null)
      proxy.cut()
      await until('the message is settled', () => consumer.queue.unsettled === 0)
      assert.equal(await database.times(`k${round}`), 1)
    }
    assert.equal(consumer.process.tally.outcomes.duplicate, 10)
    assert.equal(consumer.process.tally.outcomes.applied, undefined)
    await proxy.close()
  })

  test('a backend terminated in mid-transaction rolls back and the batch is run again', async () => {
    await using database = await countingDatabase()
    const gate = Promise.withResolvers<void>()
    let calls = 0
    await using consumer = await startCounting(database.url, {
      async handle({ message, tx }) {
        calls++
        await increment(tx, message.key)
        if (calls > 1) return
        await database.pool.query(`
          select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and state = 'idle in transaction'`)
        gate.resolve()
      },
    })
    consumer.publish({ id: 'm', key: 'k' })
    await gate.promise
    await until('the message is settled', () => consumer.queue.unsettled === 0)
    assert.equal(await database.times('k'), 1)
    assert.equal(calls, 2)
    assert.deepEqual(await attempts(database), [], 'an outage burns no attempt')
  })

  test('a statement after the connection has ended fails at once, and the batch is run again', async () => {
    await using database = await countingDatabase()
    let calls = 0
    const ours = `pg_stat_activity where datname = current_database() and state = 'idle in transaction'`
    await using consumer = await startCounting(database.url, {
      async handle({ message, tx }) {
        calls++
        await increment(tx, message.key)
        if (calls > 1) return
        await database.pool.query(`select pg_terminate_backend(pid) from ${ours}`)
        const isGone = async () => (await database.pool.query(`select from ${ours}`)).rowCount === 0
        await until('the connection has ended', isGone)
        await increment(tx, message.key)
      },
    })
    consumer.publish({ id: 'm', key: 'k' })
    await until('the message is settled', () => consumer.queue.unsettled === 0, { deadlineMs: 20_000 })
    assert.equal(await database.times('k'), 1)
    assert.equal(calls, 2)
    assert.deepEqual(await attempts(database), [], 'an outage burns no attempt')
  })

  test('the database is unavailable: nothing is settled, the consumer waits and continues automatically', async () => {
    await using database = await countingDatabase()
    const proxy = await startProxyFor(database.url)
    await using consumer = await startCounting(proxy.through(database.url))
    consumer.publish({ id: 'before', key: 'k' })
    await until('the first is settled', () => consumer.queue.unsettled === 0)
    proxy.refuse()
    proxy.cut()
    consumer.publish(...Array.from({ length: 50 }, (_, n) => ({ id: `during${n}`, key: 'k' })))
    await until('the consumer notices', () => consumer.process.tally.storeUnavailable)
    assert.equal(consumer.queue.unsettled, 50)
    assert.equal(consumer.process.state, 'running')
    proxy.accept()
    await until('the rest is settled', () => consumer.queue.unsettled === 0)
    assert.equal(await database.times('k'), 51)
    await proxy.close()
  })

  test("another transaction's uncommitted marker is waited for within bounds, never skipped", async () => {
    await using database = await countingDatabase()
    await using consumer = await startCounting(database.url, {}, { lockTimeoutMs: 100 })
    for (const end of ['rollback', 'commit'] as const) {
      const other = await database.pool.connect()
      await other.query('begin')
      await other.query(`
        insert into onceward.inbox (consumer_id, run_id, status, message_id, digest)
        select id, 1, 'applied', '${end}', sha256('other')::bytea from onceward.consumer`)
      consumer.publish({ id: end, key: end }, { id: `${end}-neighbour`, key: `${end}-neighbour` })
      await until(
        'the lock wait ran out at least once',
        async () => consumer.process.tally.batchesInFlight > 0,
      )
      assert.equal(consumer.queue.unsettled, 2)
      await other.query(end)
      other.release()
      await until('both are settled', () => consumer.queue.unsettled === 0)
      assert.equal(await database.times(`${end}-neighbour`), 1)
    }
    assert.equal(await database.times('rollback'), 1, 'the holder rolled back, so the waiter was first')
    assert.equal(await database.times('commit'), 0, 'the holder committed other bytes, so this is a conflict')
    assert.deepEqual(
      (await database.held()).map(row => [row.id, row.code]),
      [['commit', 'conflict']],
    )
  })

  test('a row locked by another transaction delays its own message, not the rest', async () => {
    await using database = await countingDatabase()
    await database.pool.query(`insert into count values ('locked', 0)`)
    const outsider = await database.pool.connect()
    await outsider.query(`begin; select * from count where key = 'locked' for update`)
    await using consumer = await startCounting(
      database.url,
      { batch: { sizeMax: 5 } },
      { lockTimeoutMs: 100 },
    )
    consumer.publish({ id: 'stuck', key: 'locked' })
    await until('the stuck one waits', () => consumer.process.tally.batchesInFlight === 1)
    consumer.publish(...Array.from({ length: 23 }, (_, n) => ({ id: `m${n}`, key: `k${n}` })))
    await until('all others are settled', () => consumer.queue.unsettled === 1)
    await outsider.query('rollback')
    outsider.release()
    await until('it is applied too', () => consumer.queue.unsettled === 0)
    assert.equal(await database.counted(), 24)
    assert.deepEqual(await database.held(), [])
  })

  test('deadlocks between handlers are retried and count as no attempt', async () => {
    await using database = await countingDatabase()
    await database.pool.query(`insert into count values ('a', 0), ('b', 0)`)
    await database.pool.query(
      `do $$ begin execute format('alter database %I set deadlock_timeout = 20', current_database()); end $$`,
    )
    const eachHasOne = Promise.withResolvers<void>()
    let holding = 0
    const inOrder = (first: string, second: string) => ({
      batch: { sizeMax: 1, inFlightMax: 2 },
      name: `deadlock_${first}`,
      handle: async ({ tx }: { tx: Parameters<typeof increment>[0] }) => {
        await increment(tx, first)
        if (++holding === 2) eachHasOne.resolve()
        await eachHasOne.promise
        await increment(tx, second)
      },
    })
    await using left = await startCounting(database.url, inOrder('a', 'b'))
    await using right = await startCounting(database.url, inOrder('b', 'a'))
    const messages = Array.from({ length: 60 }, (_, n) => ({ id: `m${n}`, key: '' }))
    left.publish(...messages)
    right.publish(...messages)
    await until('all are settled', () => left.queue.unsettled + right.queue.unsettled === 0)
    assert.equal(await database.times('a'), 120)
    assert.equal(await database.times('b'), 120)
    assert.deepEqual(await attempts(database), [])
    await until('the server has counted a deadlock', async () => {
      const { rows } = await database.pool.query(
        'select deadlocks from pg_stat_database where datname = current_database()',
      )
      return Number(rows[0].deadlocks) > 0
    })
  })

  for (const isolation of ['repeatable read', 'serializable'] as const) {
    test(`under ${isolation}, racing duplicates still have one effect`, async () => {
      await using database = await countingDatabase()
      await using left = await startCounting(database.url, {}, { isolation })
      await using right = await startCounting(database.url, {}, { isolation })
      const messages = Array.from({ length: 300 }, (_, n) => ({ id: `m${n}`, key: `k${n}` }))
      left.publish(...messages)
      right.publish(...messages.toReversed())
      await until('all are settled', () => left.queue.unsettled + right.queue.unsettled === 0)
      assert.equal(await database.counted(), 300)
      assert.deepEqual(await attempts(database), [])
    })
  }

  test('through PgBouncer in transaction mode all guarantees hold', async t => {
    await using database = await countingDatabase()
    const bouncer = await ensurePgbouncer(database.url)
    if ('unavailable' in bouncer) return t.skip(bouncer.unavailable)
    await using left = await startCounting(bouncer.url)
    await using right = await startCounting(bouncer.url)
    const messages = Array.from({ length: 1_000 }, (_, n) => ({ id: `m${n}`, key: `k${n % 50}` }))
    left.publish(...messages, { id: 'm1', key: 'other' })
    right.publish(...messages)
    await until('all are settled', () => left.queue.unsettled + right.queue.unsettled === 0)
    assert.equal(await database.counted(), 1_000)
    assert.equal((await database.held()).length, 1)
  })
})

async function attempts(database: Awaited<ReturnType<typeof countingDatabase>>) {
  return (await database.pool.query('select * from onceward.attempt')).rows
}
