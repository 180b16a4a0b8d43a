import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { defineConsumer, runConsumer } from 'onceward'
import { runRelay } from 'onceward/outbox'
import { createPool, migrate } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { stream } from 'onceward/rabbitmq-stream'
import { until } from 'onceward/testing'
import { startProxyFor } from '../proxy/tcp-proxy.ts'
import { createTestQueue } from '../rabbitmq/broker.ts'
import { createDatabase, rabbitmqUrl, skipWithout } from '../services/services.ts'

/** Less than any time-out of a connect or close, on a machine that is slow. */
const boundMs = 4_000

describe(
  'a broker that accepts connections and says nothing',
  await skipWithout('postgres', 'rabbitmq'),
  () => {
    const contracts = {
      'a queue': { source: queue('work') },
      'a queue with retries and dead letters': {
        source: queue('work'),
        failure: { mode: 'retry queue', delayMs: 100, delayMaxMs: 200, deadLetter: 'work.dead' },
      },
      'a queue that is published to': {
        source: queue('work'),
        effect: { publish: { out: { broker: 'rabbitmq', queue: 'out' } } },
      },
      'a stream': { source: stream('log', { start: 'first' }) },
    } as const

    for (const [name, contract] of Object.entries(contracts))
      test(`does not delay a start that is stopped (${name}), and nothing is leased`, async t => {
        const { url, pool, broker } = await open(t)
        const stop = new AbortController()
        const started = runConsumer(
          defineConsumer<{ id: string }>({
            name: 'silent',
            owner: 'tests',
            risk: 'money',
            identity: { id: (m: { id: string }) => m.id },
            handle: async () => undefined,
            ...contract,
          } as never),
          {
            databaseUrl: url,
            rabbitmqUrl: `amqp://127.0.0.1:${broker.port}`,
            rabbitmqStreamUrl: `rabbitmq-stream://127.0.0.1:${broker.port}`,
            signal: stop.signal,
          },
        )
        started.catch(() => {})
        // The first connection only knocks; the next one waits for a greeting.
        await until('it waits for an answer', () => broker.count() >= 2)
        const began = performance.now()
        stop.abort()
        await assert.rejects(started, { code: 'start_aborted' })
        const tookMs = performance.now() - began
        assert.ok(tookMs < boundMs, `it took ${tookMs} ms`)
        assert.deepEqual((await pool.query('select * from onceward.reader')).rows, [])
        await until('no connection is left', () => broker.open() === 0)
      })

    test('that falls silent delays the stop of a consumer no longer than its deadline', async t => {
      const { url } = await open(t)
      const proxy = await startProxyFor(await rabbitmqUrl())
      t.after(() => proxy.close())
      const { name } = await createTestQueue(t)
      const running = await runConsumer(
        defineConsumer<{ id: string }>({
          name: 'fell_silent',
          owner: 'tests',
          risk: 'money',
          source: queue(name),
          identity: { id: m => m.id },
          effect: { publish: { out: { broker: 'rabbitmq', queue: name } } },
          handle: async () => undefined,
        }),
        { databaseUrl: url, rabbitmqUrl: proxy.through(await rabbitmqUrl()) },
      )
      proxy.pause()
      const began = performance.now()
      await running.drain(500)
      const tookMs = performance.now() - began
      assert.ok(tookMs < boundMs, `it took ${tookMs} ms`)
    })

    test('does not delay a relay that is stopped', async t => {
      const { url, broker } = await open(t)
      const relay = await runRelay({
        databaseUrl: url,
        rabbitmqUrl: `amqp://127.0.0.1:${broker.port}`,
        brokers: ['rabbitmq'],
      })
      await until('it waits for an answer', () => broker.count() >= 1)
      const began = performance.now()
      await relay.drain()
      const tookMs = performance.now() - began
      assert.ok(tookMs < boundMs, `it took ${tookMs} ms`)
      await until('no connection is left', () => broker.open() === 0)
    })
  },
)

async function open(t: TestContext) {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 2 })
  await migrate(pool)
  const sockets = new Set<Socket>()
  let count = 0
  const server = createServer(socket => {
    count++
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.resume()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    for (const socket of sockets) socket.destroy()
    server.close()
    await pool.end()
    await database.drop()
  })
  const { port } = server.address() as AddressInfo
  return { url: database.url, pool, broker: { port, count: () => count, open: () => sockets.size } }
}
