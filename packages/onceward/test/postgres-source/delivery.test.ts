import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import pg from 'pg'
import { withDefaults } from '../../src/contract/options/defaults.ts'
import { createPool } from '../../src/drivers/postgres/pool.ts'
import { HintListener } from '../../src/drivers/postgres/queue/hint-listener.ts'
import { hint, publish, queueDepth } from '../../src/drivers/postgres/queue/index.ts'
import { overLimit } from '../../src/message/limits.ts'
import { ensurePgbouncer, skipWithout } from '../services/services.ts'
import {
  type Opened,
  poolWith,
  receiveCount,
  type TestQueues,
  testQueues,
  texts,
  until,
} from './queue-under-test.ts'

const defaultLimits = withDefaults('message.limits', {})

const guard = await skipWithout('postgres')
const queues = guard.skip ? (null as unknown as TestQueues) : await testQueues()
after(() => queues?.close())

const numbered = (count: number) => Array.from({ length: count }, (_, i) => `m${i}`)

describe('a subscription to a PostgreSQL queue', guard, () => {
  it('delivers in order and deletes settled messages', async () => {
    const queue = await queues.createQueue()
    const subscription = await queues.open(queue)
    const waiting = subscription.receive(10)
    await queues.publish(queue, 'a', 'b', 'c')
    const deliveries = [...(await waiting)]
    deliveries.push(...(await receiveCount(subscription, 3 - deliveries.length)))
    assert.deepEqual(texts(deliveries), ['a', 'b', 'c'])
    assert.deepEqual(await subscription.settle(deliveries), { missed: 0 })
    assert.deepEqual(await queueDepth(queues.pool, queue), { messages: 0, leased: 0 })
    assert.deepEqual(subscription.events, [{ kind: 'connected' }])
  })

  it('delivers rows with any header tables, and the rows leased with them', async () => {
    const queue = await queues.createQueue()
    const nested = `{"deep":${'['.repeat(6_000)}${']'.repeat(6_000)}}`
    const rows: [string, string, string][] = [
      ['no tables', 'null', 'null'],
      ['no tables either', '5', '"text"'],
      ['too deep', nested, '{}'],
      ['behind them', '{"tenant":7}', '{}'],
    ]
    for (const [body, headers, properties] of rows)
      await queues.pool.query(
        `insert into onceward.queue_message (queue_id, headers, properties, body)
         select id, $2::json, $3::json, $4 from onceward.queue where name = $1`,
        [queue, headers, properties, Buffer.from(body)],
      )
    const deliveries = await receiveCount(await queues.open(queue), rows.length)
    assert.deepEqual(
      deliveries.map(({ body, properties }) => [body.toString(), { ...properties }]),
      rows.map(([body]) => [body, {}]),
    )
    const [none, neither, deep, behind] = deliveries
    const headers = [none, neither, behind].map(one => ({ ...one!.headers }))
    assert.deepEqual(headers, [{}, {}, { tenant: 7 }])
    assert.match(overLimit(deep!, defaultLimits)!, /nested/)
  })

  it('shares a queue with others: every message goes to exactly one', async () => {
    const queue = await queues.createQueue()
    const bodies = numbered(6_000)
    await queues.publish(queue, ...bodies)
    const seen: string[] = []
    let settled = 0
    const work = async (subscription: Opened) => {
      while (settled < bodies.length) {
        const deliveries = await subscription.receive(97)
        seen.push(...texts(deliveries))
        assert.deepEqual(await subscription.settle(deliveries), { missed: 0 })
        settled += deliveries.length
        if (settled >= bodies.length) await Promise.all(subscriptions.map(one => one.close()))
      }
    }
    const subscriptions = await Promise.all([1, 2, 3].map(() => queues.open(queue, { inFlightMax: 300 })))
    await Promise.all(subscriptions.map(work))
    assert.deepEqual(seen.toSorted(), bodies.toSorted())
    assert.deepEqual(await queueDepth(queues.pool, queue), { messages: 0, leased: 0 })
  })

  it('holds no more messages and bytes than allowed, and still takes a message larger than that', async () => {
    const queue = await queues.createQueue()
    await queues.publish(queue, ...Array.from({ length: 10 }, () => 'x'.repeat(300)), 'y'.repeat(5_000), 'z')
    const subscription = await queues.open(queue, { inFlightMax: 8, inFlightBytesMax: 1_000 })
    const settled: string[] = []
    while (settled.length < 12) {
      const deliveries = await subscription.receive(100)
      const { leased } = await queueDepth(queues.pool, queue)
      const { rows } = await queues.pool.query(
        'select sum(octet_length(body))::int as bytes from onceward.queue_message m join onceward.queue q on q.id = m.queue_id where q.name = $1 and lease_id is not null',
        [queue],
      )
      assert.ok(rows[0].bytes <= 1_000 || leased === 1, `${rows[0].bytes} bytes in ${leased} messages`)
      await subscription.settle(deliveries)
      settled.push(...texts(deliveries))
    }
    await queues.publish(queue, ...numbered(50))
    await receiveCount(subscription, 8)
    await until(async () => (await queueDepth(queues.pool, queue)).leased === 8)
    const more = await queues.open(queue)
    await receiveCount(more, 42)
  })

  it('finds a message that committed late under a lower id', async () => {
    const queue = await queues.createQueue()
    const late = await queues.pool.connect()
    await late.query('begin')
    await publish(late, queue, [{ body: 'late' }])
    const subscription = await queues.open(queue, { inFlightMax: 10_000 })
    for (let round = 0; round < 3; round++) {
      await queues.publish(queue, ...numbered(1_000))
      await subscription.settle(await receiveCount(subscription, 1_000))
    }
    const { rows: flowing } = await queues.pool.query(
      'select max(high_id)::int as high from onceward.queue_lease',
    )
    assert.ok(flowing[0].high > 3_000)
    await late.query('commit')
    late.release()
    assert.deepEqual(texts(await subscription.receive(10)), ['late'])
  })

  it('releases unsettled messages at once, and ends a waiting receive', async () => {
    const queue = await queues.createQueue()
    await queues.publish(queue, 'a', 'b', 'c', 'd')
    const first = await queues.open(queue)
    const [a] = await receiveCount(first, 1)
    await first.settle([a!])
    await receiveCount(first, 3)
    const waiting = first.receive(10)
    await first.close()
    assert.deepEqual(await waiting, [])
    assert.deepEqual(await queueDepth(queues.pool, queue), { messages: 3, leased: 0 })
    const { rows } = await queues.pool.query(
      'select 1 from onceward.queue_lease l join onceward.queue q on q.id = l.queue_id where q.name = $1',
      [queue],
    )
    assert.equal(rows.length, 0)
    const again = await receiveCount(await queues.open(queue), 3)
    assert.deepEqual(texts(again), ['b', 'c', 'd'])
    assert.deepEqual(
      again.map(one => [one.deliveryCount, one.redelivered]),
      [
        [1, true],
        [1, true],
        [1, true],
      ],
    )
  })

  it('is woken by a hint', async () => {
    const queue = await queues.createQueue()
    let claims = 0
    let answeredMs = 0
    const counting = Object.assign(
      poolWith(queues.pool, 'for update skip locked', async run => {
        const answer = await run()
        claims++
        answeredMs = performance.now()
        return answer
      }),
      { options: (queues.pool as unknown as { options: object }).options },
    )
    const subscription = await queues.open(queue, { pool: counting })
    const latencies: number[] = []
    // Polling alone takes at least its pause, so one quick answer is proof; on a busy machine any of them may
    // be late.
    for (let round = 0; round < 20 && !latencies.some(ms => ms < 200); round++) {
      const before = claims
      await until(() => claims >= before + 8)
      const restsSinceMs = answeredMs
      await queues.publish(queue, 'x')
      await hint(queues.pool, queue)
      const deliveries = await subscription.receive(1)
      latencies.push(performance.now() - restsSinceMs)
      await subscription.settle(deliveries)
    }
    assert.ok(latencies.at(-1)! < 200, `${latencies} ms; polling alone takes 250`)
  })
})

describe('the hint listener', guard, () => {
  it('receives hints for its own queue only', async () => {
    let hints = 0
    const listener = new HintListener(queues.pool, 'mine', () => hints++, assert.fail)
    listener.start()
    await until(() => hints === 1)
    await queues.pool.query(
      `select pg_notify('onceward_queue', 'other'), pg_notify('onceward_queue', 'mine')`,
    )
    await until(() => hints > 1)
    assert.equal(hints, 2)
    await hint(queues.pool, 'mine')
    await until(() => hints > 2)
    listener.close()
  })

  it('keeps listening when its process was paused while the probe arrived', async () => {
    const { options } = queues.pool as unknown as { options: object }
    const sender = new pg.Client(options)
    await sender.connect()
    const standing = Object.assign(Object.create(queues.pool), {
      options,
      query(text: string, values: unknown[]) {
        const sent = sender.query(text, values)
        // Longer than the wait for the probe.
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_200)
        return sent
      },
    })
    let hints = 0
    const listener = new HintListener(standing, 'mine', () => hints++, assert.fail)
    listener.start()
    await until(() => hints > 0)
    listener.close()
    await sender.end()
  })

  it('does not listen behind PgBouncer, where other clients would get the hints, and says so once', async t => {
    const bouncer = await ensurePgbouncer(queues.url)
    if ('unavailable' in bouncer) return t.skip(bouncer.unavailable)
    const pool = createPool(bouncer.url)
    const reasons: string[] = []
    const listener = new HintListener(
      pool,
      'q',
      () => {},
      reason => reasons.push(reason),
    )
    listener.start()
    await until(() => reasons.length > 0)
    listener.close()
    // At least one client for each server connection: together they use all of them.
    const { rows } = await queues.pool.query(
      'select count(*)::int as n from pg_stat_activity where datname = current_database()',
    )
    const clients = await Promise.all(Array.from({ length: Math.min(10, rows[0].n) }, () => pool.connect()))
    await Promise.all(clients.map(client => client.query('begin')))
    const heard = await Promise.all(clients.map(client => client.query('select pg_listening_channels()')))
    await Promise.all(clients.map(client => client.query('rollback')))
    for (const client of clients) client.release()
    await pool.end()
    assert.deepEqual(
      heard.flatMap(({ rows }) => rows),
      [],
    )
    assert.deepEqual(reasons, ['the connection goes through a pooler such as PgBouncer: polling only'])
  })

  it('reports once that notifications do not arrive', async () => {
    const silent = Object.assign(
      poolWith(queues.pool, 'pg_notify', () => Promise.resolve({ rows: [], rowCount: 0, command: 'SELECT' })),
      { options: (queues.pool as unknown as { options: object }).options },
    )
    const reasons: string[] = []
    const listener = new HintListener(silent, 'q', assert.fail, reason => reasons.push(reason))
    listener.start()
    await until(() => reasons.length > 0)
    listener.close()
    assert.match(reasons.join(), /polling only/)
  })
})
