import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, before, describe, type TestContext, test } from 'node:test'
import { connect } from 'amqplib'
import { publishInTransaction, runRelay } from 'onceward/outbox'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { createTestEnvironment, until } from 'onceward/testing'
import { type ConsumerContract, defineConsumer, type RunOptions, runConsumer } from '../../src/index.ts'
import type { Received } from '../../src/message/received.ts'
import { startObserveServer } from '../../src/runtime/observe-server.ts'
import { realEnvironment } from '../../src/runtime/real-environment.ts'
import { UnfinishedWatch } from '../../src/runtime/unfinished-watch.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { StoreGauges } from '../../src/telemetry/store-gauges.ts'
import { startProxyFor } from '../proxy/tcp-proxy.ts'
import { createDatabase, rabbitmqUrl, skipWithout } from '../services/services.ts'
import { scrape } from './scraped.ts'

type Message = { id: string }

const withRabbit = await skipWithout('rabbitmq')

describe('readiness', await skipWithout('postgres'), () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let pool: ReturnType<typeof createPool>

  before(async () => {
    database = await createDatabase()
    pool = createPool(database.url, { max: 2 })
    await migrate(pool)
  })
  after(async () => {
    await pool.end()
    await database.drop()
  })

  const run = async (
    t: TestContext,
    contract: Pick<ConsumerContract<Message>, 'name'> & Partial<ConsumerContract<Message>>,
    parts?: RunOptions['parts'],
  ) => {
    await createQueue(pool, contract.name)
    const server = await startObserveServer({ host: '127.0.0.1', port: 0 })
    t.after(() => server.close())
    const starting = await fetch(`${server.url}/readyz`)
    assert.equal(starting.status, 503)
    assert.deepEqual(await starting.json(), {
      ready: false,
      reasons: ['starting'],
      oldestUnfinishedSeconds: null,
      stalledSeconds: null,
    })
    const running = await runConsumer(
      defineConsumer<Message>({
        owner: 'tests',
        risk: 'projection',
        source: postgresQueue(contract.name),
        identity: { id: message => message.id },
        ...contract,
      }),
      {
        databaseUrl: database.url,
        env: realEnvironment({ meter: server.meter }),
        ...(parts !== undefined && { parts }),
      },
    )
    t.after(() => running.drain(1_000).catch(() => {}))
    server.watch(running.health)
    const ready = async () => {
      const answer = await fetch(`${server.url}/readyz`)
      return { status: answer.status, ...((await answer.json()) as { reasons: string[] }) }
    }
    return { running, server, ready }
  }

  test('ends when the oldest unfinished message is older than the contract says, and comes back', async t => {
    const { promise: gate, resolve: open } = Promise.withResolvers<void>()
    const { running, ready, server } = await run(t, {
      name: 'ready_slow',
      objectives: { lagMax: '1s' },
      batch: { handlerTimeoutMs: 60_000 },
      handle: () => gate,
    })
    assert.equal((await ready()).status, 200)
    await publish(pool, 'ready_slow', [{ body: { id: 'slow' } }])
    await until('it is not ready', async () => (await ready()).status === 503)
    const [reason, none] = (await ready()).reasons
    assert.match(reason!, /^the oldest unfinished message is \d+ s old, and the contract allows 1 s$/)
    assert.equal(none, undefined)
    assert.equal((await fetch(`${server.url}/livez`)).status, 200, 'alive all the same')
    assert.ok(
      (await scrape(server.url)).sum('onceward_consumer_effect_lag_seconds', { partition: 'ready_slow' }) >=
        1,
    )
    open()
    await until('it is ready again', async () => (await ready()).status === 200)
    void running.drain()
    await until('it drains', async () => (await ready()).status === 503)
    await running.finished
    assert.deepEqual((await ready()).reasons, ['stopped'])
  })

  test('covers parts that run separately, and only the process that reads the source is up', async t => {
    const handle = async () => {}
    const failure = { deadLetter: 'ready_dead' }
    const carriers = await run(t, { name: 'ready_carriers', failure, handle }, ['relay'])
    assert.deepEqual((await carriers.ready()).reasons, [])
    assert.deepEqual((await scrape(carriers.server.url)).by('onceward_consumer_up', 'consumer'), {})
    const workers = await run(t, { name: 'ready_worker', inbox: { mode: 'stored' }, handle }, ['worker'])
    assert.deepEqual((await workers.ready()).reasons, [])
    assert.deepEqual((await scrape(workers.server.url)).by('onceward_consumer_up', 'consumer'), {})
    const reader = await run(t, { name: 'ready_reader', inbox: { mode: 'stored' }, handle }, ['consumer'])
    assert.equal((await scrape(reader.server.url)).sum('onceward_consumer_up'), 1)
  })

  test('ends while the broker is unavailable, and so does being up', withRabbit, async t => {
    const url = await rabbitmqUrl()
    const proxy = await startProxyFor(url)
    t.after(() => proxy.close())
    const name = `ready_cut_${randomBytes(4).toString('hex')}`
    const source = queue(name, { url: proxy.through(url) })
    const { ready, server } = await run(t, { name, source, handle: async () => {} })
    t.after(async () => {
      const connection = await connect(url)
      await (await connection.createChannel()).deleteQueue(name)
      await connection.close()
    })
    await until('it is ready', async () => (await ready()).status === 200)
    proxy.refuse()
    proxy.cut()
    await until('it is not', async () =>
      (await ready()).reasons.includes('the broker of its source does not answer'),
    )
    assert.equal((await scrape(server.url)).sum('onceward_consumer_up'), 0)
    proxy.accept()
    await until('it is ready again', async () => (await ready()).status === 200)
    assert.equal((await scrape(server.url)).sum('onceward_consumer_up'), 1)
  })

  test(
    'of a relay begins when its broker was reached, and ends while rows wait for an unavailable one',
    withRabbit,
    async t => {
      const url = await rabbitmqUrl()
      const proxy = await startProxyFor(url)
      t.after(() => proxy.close())
      const name = `ready_relayed_${randomBytes(4).toString('hex')}`
      const connection = await connect(url)
      const channel = await connection.createChannel()
      await channel.assertQueue(name)
      t.after(async () => {
        await channel.deleteQueue(name)
        await connection.close()
      })
      proxy.refuse()
      const relay = await runRelay({
        databaseUrl: database.url,
        brokers: ['rabbitmq'],
        rabbitmqUrl: proxy.through(url),
      })
      t.after(() => relay.drain(1_000))
      assert.match(relay.health().reasons.join(), /^RabbitMQ at 127\.0\.0\.1:\d+\S* does not answer$/)
      proxy.accept()
      await until('it is ready', () => relay.health().ready)
      proxy.refuse()
      proxy.cut()
      await publishInTransaction(pool, { broker: 'rabbitmq', queue: name }, [{ id: name, body: {} }])
      await until('it is not ready', () => !relay.health().ready)
      assert.match(relay.health().reasons.join(), /^RabbitMQ at 127\.0\.0\.1:\d+\S* does not answer$/)
      proxy.accept()
      await until('it is ready again', () => relay.health().ready)
      await until('the row was carried', async () => (await channel.checkQueue(name)).messageCount === 1)
    },
  )

  test('ends while a dependency is unavailable', async t => {
    let away = true
    const { ready } = await run(t, {
      name: 'ready_paused',
      failure: {
        breaker: { failuresMax: 2, pauseMs: 20, pauseMaxMs: 20 },
        delayMs: 1,
        delayMaxMs: 1,
        attemptsMax: 100,
      },
      handle: async () => {
        if (away) throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
      },
    })
    await publish(
      pool,
      'ready_paused',
      ['a', 'b', 'c'].map(id => ({ body: { id } })),
    )
    await until('it is paused', async () =>
      (await ready()).reasons.includes('paused: a dependency is unavailable'),
    )
    away = false
    await until('it goes on', async () => (await ready()).status === 200)
  })

  test('ends when the consumer has halted, and stays ended', async t => {
    const { running, ready } = await run(t, {
      name: 'ready_halted',
      failure: { classes: { broken: 'configuration' }, policies: { configuration: { terminal: 'halted' } } },
      handle: async () => {
        throw Object.assign(new Error('no'), { code: 'broken' })
      },
    })
    await publish(pool, 'ready_halted', [{ body: { id: 'x' } }])
    await assert.rejects(running.finished, { code: 'consumer_halted' })
    assert.equal((await ready()).status, 503)
  })

  test('the database is queried once in five seconds, for any number of scrapes, and never without one', async () => {
    const env = createTestEnvironment()
    let asked = 0
    let answered = 0
    let away = false
    const counting = {
      ...pool,
      query: async (text: string) => (away ? assert.fail('away') : pool.query(text)),
      connect: async () => {
        asked++
        const client = await pool.connect()
        return {
          query: client.query.bind(client),
          on: client.on.bind(client),
          removeListener: client.removeListener.bind(client),
          release(destroy?: boolean) {
            answered++
            client.release(destroy)
          },
        }
      },
    }
    const server = await startObserveServer({ host: '127.0.0.1', port: 0 })
    const consumer = { name: 'unknown', generation: 1, failure: { parking: { totalMax: 10, perKeyMax: 10 } } }
    const metrics = createMetrics(server.meter)
    const gauges = new StoreGauges({
      pool: counting as never,
      consumer: consumer as never,
      readProgress: () => Promise.reject(new Error('no campaign runs')),
      env: { ...env, metrics },
    })
    await env.advance(60_000)
    assert.equal(asked, 0)
    await Promise.all(Array.from({ length: 20 }, () => scrape(server.url)))
    await until(
      'it was read',
      async () => (await scrape(server.url)).by('onceward_work_messages', 'state').parked === 0,
    )
    assert.equal(asked, 1)
    // A scrape every minute shows values of the last seconds: the process reads again by itself.
    for (const round of [2, 3, 4, 5, 6, 7, 8, 9]) {
      await env.advance(7_500)
      await until('it was read again', () => asked === round && answered === round)
      await env.turn()
    }
    const minuteLater = await scrape(server.url)
    assert.equal(minuteLater.by('onceward_work_messages', 'state').parked, 0)
    assert.ok(minuteLater.sum('onceward_consumer_gauges_age_seconds') <= 15)
    away = true
    await env.advance(16_000)
    const last = await scrape(server.url)
    assert.equal(last.by('onceward_work_messages', 'state').parked, Number.NaN, 'not the last value for ever')
    assert.ok(last.sum('onceward_consumer_gauges_age_seconds') >= 16)
    away = false
    await env.advance(700_000)
    await until('nothing is scheduled once nobody collects', async () => {
      await env.advance(700_000)
      return env.due.length === 0
    })
    await gauges.close()
    await server.close()
  })
})

test("age counts from a message's own time, or from its arrival, and at most a year back", async () => {
  const env = createTestEnvironment()
  const unfinished: Pick<Received, 'delivery'>[] = []
  const none = async () => {}
  const watch = new UnfinishedWatch({
    env,
    now: () => 1_000_000,
    unfinished: () => unfinished as Received[],
    firstSeen: { clear: none, recall: async () => new Map(), keep: none, forget: none },
    running: () => true,
  })
  const received = (timestampMs?: number) =>
    ({ id: null, delivery: { properties: { timestampMs } } }) as never
  assert.equal(watch.oldestMs(), null)
  unfinished.push(received())
  await env.advance(2_500)
  assert.ok(watch.oldestMs()! >= 1_500)
  unfinished.push(received(990_000))
  assert.equal(watch.oldestMs(), 10_000)
  unfinished.push(received(Number.MIN_SAFE_INTEGER), received(99_999_999_999))
  assert.equal(watch.oldestMs(), 366 * 24 * 3_600_000)
  unfinished.length = 0
  assert.equal(watch.oldestMs(), null)
  await watch.stop()
  assert.deepEqual(env.due, [])
})
