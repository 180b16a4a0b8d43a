import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createPool, createQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { readStatus } from '../../src/telemetry/read-status.ts'
import { startProxyFor, startTcpProxy } from '../proxy/tcp-proxy.ts'
import { createDatabase, rabbitmqUrl, skipWithout } from '../services/services.ts'
import { openFolder } from './cli-process.ts'

describe('runs that status counts as open', await skipWithout('postgres', 'rabbitmq'), () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let pool: ReturnType<typeof createPool>
  let scene: ReturnType<typeof openFolder>

  before(async () => {
    scene = openFolder()
    database = await createDatabase()
    pool = createPool(database.url, { max: 2 })
  })
  after(async () => {
    scene[Symbol.dispose]()
    await pool.end()
    await database.drop()
  })

  const start = (args: readonly string[], env: Record<string, string> = {}) =>
    scene.start(args, { ONCEWARD_DATABASE_URL: database.url, ...env })
  const runsOf = async (name: string) => {
    const one = (await readStatus(pool)).consumers.find(consumer => consumer.name === name)
    return one && { open: one.openRuns, silent: one.silentRuns }
  }

  test('a consumer that halted because of a missing table has none, and its deliveries are not suspected', {
    timeout: 120_000,
  }, async () => {
    await createQueue(pool, 'runs_halt')
    await publish(pool, 'runs_halt', [{ body: '{"id":"h"}' }])
    const file = scene.consumer(
      'runs_halt',
      `postgresQueue('runs_halt')`,
      `await tx.query('select from no_such_table')`,
    )
    assert.equal((await start(['run', file]).ended).code, 1)
    assert.deepEqual(await runsOf('runs_halt'), { open: 0, silent: 0 })
    const { rows } = await pool.query(
      `select r.halted_reason, r.ended_at is not null as ended from onceward.run r join onceward.consumer c on c.id = consumer_id where name = 'runs_halt'`,
    )
    assert.equal(rows.length, 1)
    assert.equal(rows[0].ended, true)
    assert.equal(rows[0].halted_reason, null)
  })

  test('one that is ended by SIGTERM while its broker is unavailable has none', {
    timeout: 120_000,
  }, async () => {
    const proxy = await startProxyFor(await rabbitmqUrl())
    try {
      const name = `runs_away_${process.pid}`
      const file = scene.consumer(name, `queue('${name}', { arguments: { 'x-expires': 120000 } })`)
      const running = start(['run', file], { ONCEWARD_RABBITMQ_URL: proxy.through(await rabbitmqUrl()) })
      await until('it runs', () => /consumer running/.test(running.output.stderr))
      assert.deepEqual(await runsOf(name), { open: 1, silent: 0 })
      proxy.refuse()
      proxy.cut()
      await until('it noticed', () => /source disconnected/.test(running.output.stderr))
      running.child.kill('SIGTERM')
      assert.equal((await running.ended).code, 0, running.output.stderr)
      assert.deepEqual(await runsOf(name), { open: 0, silent: 0 })
    } finally {
      await proxy.close()
    }
  })

  for (const [kind, from, variable, scheme] of [
    ['queue', "queue('runs_never')", 'ONCEWARD_RABBITMQ_URL', 'amqp://guest:guest@'],
    [
      'stream',
      "stream('runs_never', { start: 'first' })",
      'ONCEWARD_RABBITMQ_STREAM_URL',
      'rabbitmq-stream://guest:guest@',
    ],
    ['kafka', "topic('runs_never', { start: 'earliest' })", 'ONCEWARD_KAFKA_BOOTSTRAP', ''],
  ] as const)
    test(`one that is ended by SIGTERM during its start has none: ${kind}`, {
      timeout: 120_000,
    }, async () => {
      // It accepts connections and closes them, as a balancer in front of a broker that is away does.
      const proxy = await startTcpProxy({ host: '127.0.0.1', port: 1 })
      try {
        const name = `runs_start_${kind}`
        const running = start(['run', scene.consumer(name, from)], {
          [variable]: `${scheme}127.0.0.1:${proxy.port}`,
        })
        await until('its run is open', async () => (await runsOf(name))?.open === 1)
        running.child.kill('SIGTERM')
        const { code, stderr } = await running.ended
        assert.equal(code, 143, stderr)
        assert.match(stderr, /stopped before it had started/)
        assert.deepEqual(await runsOf(name), { open: 0, silent: 0 })
      } finally {
        await proxy.close()
      }
    })

  test('one that was killed counts as silent without heartbeats, and no longer as open', {
    timeout: 120_000,
  }, async () => {
    const running = start(['run', scene.consumer('runs_killed', `postgresQueue('runs_killed')`)])
    await until('it runs', () => /consumer running/.test(running.output.stderr))
    assert.deepEqual(await runsOf('runs_killed'), { open: 1, silent: 0 })
    running.child.kill('SIGKILL')
    await running.ended
    await until('it is silent', async () => (await runsOf('runs_killed'))?.silent === 1)
    assert.deepEqual(await runsOf('runs_killed'), { open: 0, silent: 1 })
  })
})
