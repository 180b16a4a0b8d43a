import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { defineConsumer, runConsumer } from 'onceward'
import { topic } from 'onceward/kafka'
import { createPool } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { stream } from 'onceward/rabbitmq-stream'
import { until } from 'onceward/testing'
import { startProxyFor } from '../proxy/tcp-proxy.ts'
import { createDatabase, kafkaBootstrap, rabbitmqUrl, skipWithout } from '../services/services.ts'
import { openFolder } from './cli-process.ts'

const withKafka = await skipWithout('kafka')

describe('a start whose servers are unavailable', await skipWithout('postgres', 'rabbitmq'), () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let scene: ReturnType<typeof openFolder>

  before(async () => {
    scene = openFolder()
    database = await createDatabase()
  })
  after(async () => {
    scene[Symbol.dispose]()
    await database.drop()
  })

  test('waits, alive and not ready, and works when they are available', { timeout: 120_000 }, async () => {
    const [store, broker] = await Promise.all([
      startProxyFor(database.url),
      startProxyFor(await rabbitmqUrl()),
    ])
    store.refuse()
    broker.refuse()
    try {
      const name = `patient_${process.pid}`
      const running = scene.start(
        [
          'run',
          scene.consumer(
            name,
            `queue('${name}', { arguments: { 'x-expires': 120000 } })`,
            '',
            `failure: { deadLetter: '${name}.dead' },`,
          ),
          ...['--metrics-host', '127.0.0.1'],
          '--metrics-port',
          '0',
        ],
        {
          ONCEWARD_DATABASE_URL: store.through(database.url),
          ONCEWARD_RABBITMQ_URL: broker.through(await rabbitmqUrl()),
        },
      )
      await until('it says what it waits for', () =>
        running.output.stderr.includes(`The database at 127.0.0.1:${store.port}`),
      )
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(running.output.stderr)!
      assert.equal((await fetch(`${url}/livez`)).status, 200)
      assert.equal((await fetch(`${url}/readyz`)).status, 503)
      store.accept()
      await until('it waits for the broker', () =>
        /broker_unreachable|source disconnected/.test(running.output.stderr),
      )
      assert.equal((await fetch(`${url}/readyz`)).status, 503)
      broker.accept()
      await until('it is ready', async () => (await fetch(`${url}/readyz`)).status === 200)
      running.child.kill('SIGTERM')
      assert.equal((await running.ended).code, 0)
    } finally {
      await store.close()
      await broker.close()
    }
  })

  const closed = '127.0.0.1:1'
  const away: readonly (readonly [what: string, from: string, env: Record<string, string>, named: RegExp])[] =
    [
      [
        'the database',
        "postgresQueue('x')",
        { ONCEWARD_DATABASE_URL: `postgres://me:hunter2@${closed}/shop` },
        /127\.0\.0\.1:1\/shop does not answer \(ECONNREFUSED\)/,
      ],
      [
        'a database of an unknown name',
        "postgresQueue('x')",
        { ONCEWARD_DATABASE_URL: 'postgres://me:hunter2@nowhere.invalid/shop' },
        /nowhere\.invalid\/shop does not answer \((ENOTFOUND|EAI_AGAIN)\)/,
      ],
      [
        'RabbitMQ',
        "queue('x')",
        { ONCEWARD_RABBITMQ_URL: `amqp://me:hunter2@${closed}` },
        /RabbitMQ cannot be reached at 127\.0\.0\.1:1 \(ECONNREFUSED\)/,
      ],
      [
        'a stream',
        "stream('x', { start: 'first' })",
        { ONCEWARD_RABBITMQ_STREAM_URL: 'rabbitmq-stream://me:hunter2@nowhere.invalid' },
        /stream port cannot be reached at nowhere\.invalid:5552 \((ENOTFOUND|EAI_AGAIN)\)/,
      ],
      [
        'Kafka',
        "topic('x', { start: 'earliest' })",
        { ONCEWARD_KAFKA_BOOTSTRAP: `${closed},nowhere.invalid:9092` },
        /Kafka cannot be reached at 127\.0\.0\.1:1 \(ECONNREFUSED\), nowhere\.invalid:9092/,
      ],
    ]
  for (const [index, [what, from, env, named]] of away.entries())
    test(`${what}: the host is named, SIGTERM ends it with 143, --start-timeout with 1`, {
      timeout: 120_000,
    }, async () => {
      const file = scene.consumer(`away_${index}`, from)
      const addresses = { ONCEWARD_DATABASE_URL: database.url, ...env }
      const running = scene.start(['run', file], addresses)
      await until('it waits', () => named.test(running.output.stderr))
      running.child.kill('SIGTERM')
      const stopped = await running.ended
      assert.equal(stopped.code, 143, stopped.stderr)
      const late = await scene.start(['run', file, '--json', '--start-timeout', '4'], addresses).ended
      assert.equal(late.code, 1, late.stderr)
      const said = JSON.parse(late.stdout)
      assert.equal(said.code, index < 2 ? 'database_unreachable' : 'broker_unreachable')
      assert.match(said.error, named)
      assert.match(said.error, /aborted after 4 s/)
      assert.doesNotMatch(stopped.stderr + late.stderr + late.stdout, /hunter2/)
      const pool = createPool(database.url, { max: 1 })
      const { rows } = await pool.query('select from onceward.run where ended_at is null')
      await pool.end()
      assert.equal(rows.length, 0)
    })

  test('a worker whose start fails at its broker ends with the start, and the start is tried again', {
    timeout: 120_000,
  }, async () => {
    const deferring = defineConsumer<{ id: string }>({
      name: `deferring_${process.pid}`,
      owner: 'tests',
      risk: 'projection',
      source: topic('x', { start: 'earliest' }),
      identity: { id: message => message.id },
      failure: { mode: 'defer' },
      retention: { markers: '30d' },
      handle: () => undefined,
    })
    const parts = ['worker'] as const
    const addresses = { databaseUrl: database.url, kafkaBootstrap: closed }
    const start = runConsumer(deferring, { ...addresses, parts, startTimeoutMs: 3_000 })
    await assert.rejects(start, { code: 'broker_unreachable' })
  })

  test('relay waits for its database, and is not ready before its broker answers', {
    timeout: 120_000,
  }, async () => {
    const relay = (databaseUrl: string) =>
      scene.start(['relay', '--broker', 'rabbitmq', '--metrics-host', '127.0.0.1', '--metrics-port', '0'], {
        ONCEWARD_DATABASE_URL: databaseUrl,
        ONCEWARD_RABBITMQ_URL: `amqp://me:hunter2@${closed}`,
      })
    const waiting = relay(`postgres://me@${closed}/shop`)
    await until('it waits', () => /127\.0\.0\.1:1\/shop does not answer/.test(waiting.output.stderr))
    waiting.child.kill('SIGTERM')
    assert.equal((await waiting.ended).code, 143)
    const unready = relay(database.url)
    await until('it names the broker', () =>
      /relay cannot reach its broker yet.*RabbitMQ at 127\.0\.0\.1:1/.test(unready.output.stderr),
    )
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(unready.output.stderr)!
    const ready = await fetch(`${url}/readyz`)
    assert.equal(ready.status, 503)
    await until('the page names it', async () =>
      /RabbitMQ at 127\.0\.0\.1:1\S* does not answer/.test(await (await fetch(`${url}/readyz`)).text()),
    )
    assert.doesNotMatch(unready.output.stderr, /hunter2/)
    unready.child.kill('SIGTERM')
    assert.equal((await unready.ended).code, 0)
  })

  const answers: readonly (readonly [what: string, code: string, end: string])[] = [
    ['starting up', '57P03', 'database_unreachable'],
    ['a wrong password', '28P01', 'configuration'],
    ['no such user', '28000', 'configuration'],
    ['a missing database', '3D000', 'configuration'],
  ]
  for (const [what, code, end] of answers)
    test(`a server that answers with ${what} (${code})`, { timeout: 120_000 }, async () => {
      await using server = await refusingPostgres(code)
      const env = { ONCEWARD_DATABASE_URL: `postgres://me:hunter2@127.0.0.1:${server.port}/shop` }
      const file = scene.consumer(`answer_${code}`.toLowerCase(), "postgresQueue('x')")
      const running = scene.start(['run', file, '--json'], env)
      if (end === 'database_unreachable') {
        await until('it waits', () => server.asked() > 1)
        running.child.kill('SIGTERM')
        assert.equal((await running.ended).code, 143)
      } else {
        const { code: exit, stdout } = await running.ended
        assert.deepEqual([exit, JSON.parse(stdout).code, server.asked()], [1, end, 1], stdout)
      }
      const status = await scene.start(['status', '--json'], env).ended
      assert.deepEqual([status.code, JSON.parse(status.stdout).code], [1, end])
    })

  test('TLS that the server does not speak is refused at once', { timeout: 120_000 }, async () => {
    await using server = await refusingPostgres('57P03')
    const url = `postgres://me@127.0.0.1:${server.port}/shop?sslmode=verify-full`
    const { code, stdout } = await scene.start(
      ['run', scene.consumer('tls', "postgresQueue('x')"), '--json'],
      { ONCEWARD_DATABASE_URL: url },
    ).ended
    assert.deepEqual([code, JSON.parse(stdout).code], [1, 'configuration'], stdout)
  })

  test('a Kafka broker that listens and is not ready is waited for, with a retention section as well', {
    timeout: 120_000,
  }, async () => {
    let asked = 0
    const server = createServer(socket => {
      asked++
      socket.on('error', () => {}).end()
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    const bootstrap = `127.0.0.1:${(server.address() as { port: number }).port}`
    for (const sourceKeeps of [undefined, '14d']) {
      const consumer = defineConsumer<{ id: string }>({
        name: 'unready',
        owner: 'tests',
        risk: 'money',
        source: topic('x', { start: 'earliest' }),
        identity: { id: m => m.id },
        retention: { markers: '30d', ...(sourceKeeps && { sourceKeeps }) },
        handle: async () => {},
      })
      await assert.rejects(
        runConsumer(consumer, {
          databaseUrl: database.url,
          kafkaBootstrap: bootstrap,
          startTimeoutMs: 4_000,
        }),
        { code: 'broker_unreachable', message: /Reading the retention of topic x/ },
      )
      const before = asked
      const dispatcher = await runConsumer(consumer, {
        databaseUrl: database.url,
        kafkaBootstrap: bootstrap,
        parts: ['dispatcher'],
      })
      await dispatcher.drain()
      assert.equal(asked, before, 'a dispatcher does not ask')
    }
    server.close()
  })

  test('a topic that is missing is named, with a retention section as well', withKafka, async () => {
    const consumer = defineConsumer<{ id: string }>({
      name: 'topicless',
      owner: 'tests',
      risk: 'money',
      source: topic(`missing_${process.pid}`, { start: 'earliest' }),
      identity: { id: m => m.id },
      retention: { markers: '30d' },
      handle: async () => {},
    })
    await assert.rejects(
      runConsumer(consumer, { databaseUrl: database.url, kafkaBootstrap: await kafkaBootstrap() }),
      { code: 'configuration', message: /the topic or partition does not exist/ },
    )
  })

  test('migrate, check and status do not wait', { timeout: 120_000 }, async () => {
    const env = { ONCEWARD_DATABASE_URL: `postgres://me@${closed}/shop` }
    for (const args of [['migrate'], ['status'], ['parked', 'groups']]) {
      const { code, stdout } = await scene.start([...args, '--json'], env).ended
      assert.deepEqual([code, JSON.parse(stdout).code], [1, 'database_unreachable'], stdout)
    }
    const file = scene.consumer('checked', "postgresQueue('x')")
    assert.equal((await scene.start(['check', '--live', file], env).ended).code, 1)
  })

  test('runConsumer takes the addresses it is not given from the environment', {
    timeout: 120_000,
  }, async t => {
    const variables = {
      ONCEWARD_RABBITMQ_URL: `amqp://${closed}`,
      ONCEWARD_RABBITMQ_STREAM_URL: `rabbitmq-stream://${closed}`,
      ONCEWARD_KAFKA_BOOTSTRAP: closed,
    }
    const environment = { ...process.env }
    Object.assign(process.env, variables)
    t.after(() => {
      process.env = environment
    })
    for (const source of [queue('x'), stream('x', { start: 'first' }), topic('x', { start: 'earliest' })]) {
      const consumer = defineConsumer<{ id: string }>({
        name: 'addressed',
        owner: 'tests',
        risk: 'money',
        source,
        identity: { id: m => m.id },
        handle: async () => {},
      })
      const options = { databaseUrl: database.url, startTimeoutMs: 2_000 }
      await assert.rejects(runConsumer(consumer, options), {
        code: 'broker_unreachable',
        message: /cannot be reached at 127\.0\.0\.1:1 \(ECONNREFUSED\)/,
      })
      const other = {
        rabbitmqUrl: 'amqp://127.0.0.1:2',
        rabbitmqStreamUrl: 'rabbitmq-stream://127.0.0.1:2',
        kafkaBootstrap: '127.0.0.1:2',
      }
      await assert.rejects(
        runConsumer(consumer, { ...options, ...other }),
        /cannot be reached at 127\.0\.0\.1:2/,
      )
      const signal = AbortSignal.abort()
      await assert.rejects(runConsumer(consumer, { ...options, signal }), { code: 'start_aborted' })
    }
  })
})

/** A server that answers every login with one error, and speaks no TLS. */
async function refusingPostgres(code: string) {
  let asked = 0
  const server: Server = createServer(socket => {
    socket.on('error', () => {})
    socket.on('data', data => {
      if (data.readInt32BE(4) === 80_877_103) return void socket.write('N')
      asked++
      const fields = `SFATAL\0VFATAL\0C${code}\0Mrefused by the test\0\0`
      const answer = Buffer.alloc(5 + fields.length)
      answer.write('E')
      answer.writeInt32BE(4 + fields.length, 1)
      answer.write(fields, 5)
      socket.end(answer)
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as { port: number }).port,
    asked: () => asked,
    [Symbol.asyncDispose]: () => new Promise<void>(resolve => server.close(() => resolve())),
  }
}
