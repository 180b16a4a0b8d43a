import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { createPool, createQueue, migrate, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { Gateway } from '../effects/gateway.ts'
import { createDatabase, skipWithout } from '../services/services.ts'
import { type Scraped, scrape } from './scraped.ts'

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url))
const arguments_ = ['--conditions=@onceward/source', path('../../src/cli/main.ts')]

describe('a run whose counts are known', await skipWithout('postgres'), () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let pool: ReturnType<typeof createPool>
  const gateway = new Gateway()

  before(async () => {
    database = await createDatabase()
    pool = createPool(database.url, { max: 2 })
    await migrate(pool)
    await createQueue(pool, 'counted_in')
    await createQueue(pool, 'counted_out')
    await gateway.open()
  })
  after(async () => {
    gateway.close()
    await pool.end()
    await database.drop()
  })

  const start = (...flags: string[]) => {
    const child = spawn(process.execPath, [...arguments_, ...flags], {
      env: {
        ...process.env,
        ONCEWARD_METRICS_PORT: undefined,
        ONCEWARD_DATABASE_URL: database.url,
        COUNTED_GATEWAY: gateway.url,
      },
    })
    let said = ''
    child.stderr.on('data', chunk => {
      said += chunk
    })
    const url = () => said.match(/"url":"(http[^"]*)"/)?.[1]
    return { child, url, said: () => said, ended: once(child, 'close') }
  }
  const one = async (text: string) => (await pool.query(text)).rows[0].n as number

  test('exports exactly those counts over HTTP, and /readyz and /livez answer', async () => {
    const run = start('run', path('counted-consumer.ts'), '--metrics-port', '0', '--json')
    try {
      await until('it says where', () => run.url() !== undefined)
      const url = run.url()!
      await until('it is ready', async () => (await fetch(`${url}/readyz`)).status === 200)
      assert.deepEqual(await (await fetch(`${url}/readyz`)).json(), {
        ready: true,
        reasons: [],
        oldestUnfinishedSeconds: null,
        stalledSeconds: null,
      })
      assert.equal((await fetch(`${url}/livez`)).status, 200)
      assert.equal((await fetch(`${url}/elsewhere`)).status, 404)
      assert.equal((await fetch(`${url}/metrics`, { method: 'POST' })).status, 405)

      const body = (id: string, does = 'nothing', more = {}) => ({ body: { id, does, ...more } })
      const plain = Array.from({ length: 7 }, (_, n) => body(`plain-${n}`))
      const called = Array.from({ length: 3 }, (_, n) => body(`call-${n}`, 'call'))
      const published = Array.from({ length: 4 }, (_, n) => body(`publish-${n}`, 'publish'))
      await publish(pool, 'counted_in', [...plain, ...called, ...published, body('ignored', 'ignore')])
      await publish(pool, 'counted_in', [body('listed', 'nothing', { type: 'listed' })])
      await until(
        'they are done',
        async () => (await one('select count(*)::int as n from onceward.inbox')) === 16,
      )
      await publish(pool, 'counted_in', [
        ...plain.slice(0, 5),
        body('plain-5', 'nothing', { other: 1 }),
        body('plain-6', 'nothing', { other: 2 }),
        { body: 'no json {' },
        { body: '[' },
        { body: Buffer.from([0xff, 0xfe]) },
        body('stranger', 'nothing', { type: 'evil\n{id="1"}' }),
        body('fails-1', 'fail'),
        body('fails-2', 'fail'),
        body('parked', 'park'),
      ])
      await until('all is settled, called and relayed', async () => {
        const left =
          await one(`select (select count(*) from onceward.queue_message m join onceward.queue q on q.id = queue_id
          where name = 'counted_in')::int as n`)
        const relayed =
          await one(`select count(*)::int as n from onceward.queue_message m join onceward.queue q on q.id = queue_id
          where name = 'counted_out'`)
        const open = await one("select count(*)::int as n from onceward.ledger where state <> 'completed'")
        return left === 0 && relayed === 4 && open === 0
      })
      let now: Scraped = await scrape(url)
      // What is counted after its commit may not be counted yet.
      await until('the database was looked at, and the last batches are counted', async () => {
        now = await scrape(url)
        return (
          now.sum('onceward_work_messages') > 0 &&
          now.sum('onceward_consumer_outcomes_total') >= 34 &&
          now.sum('messaging_client_sent_messages_total') >= 4 &&
          now.sum('onceward_external_call_duration_seconds_count') >= 3
        )
      })
      const total = (name: string, labels = {}) =>
        now.sum(`${name}_total`, { consumer: 'counted', ...labels })
      const by = (name: string, label: string) => now.by(`${name}_total`, label)

      assert.equal(total('messaging_client_consumed_messages', { messaging_system: 'postgresql' }), 30)
      assert.equal(
        total('messaging_client_consumed_messages', { messaging_destination_name: 'counted_in' }),
        30,
      )
      assert.equal(total('onceward_consumer_redelivered_messages'), 0)
      assert.deepEqual(by('onceward_consumer_outcomes', 'outcome'), {
        applied: 15,
        ignored: 1,
        duplicate: 5,
        deserialization_failure: 3,
        schema_incompatible: 1,
        quarantined: 2,
        parked: 3,
        retry: 4,
      })
      assert.deepEqual(by('onceward_consumer_outcomes', 'type'), { known: 29, listed: 1, other: 4 })
      assert.equal(total('onceward_consumer_outcomes', { messaging_destination_name: 'counted_in' }), 34)
      assert.deepEqual(by('messaging_client_consumed_messages', 'type'), { known: 25, listed: 1, other: 4 })
      assert.deepEqual(now.by('messaging_process_duration_seconds_count', 'type'), {
        known: 29,
        listed: 1,
        other: 4,
      })
      assert.equal(
        now.sum('onceward_consumer_handler_duration_seconds_count'),
        16 + 1 + 6,
        'a handler call for each new message and each attempt',
      )
      assert.equal(total('onceward_consumer_applied_messages'), 15)
      assert.equal(total('onceward_consumer_duplicates'), 5)
      assert.equal(total('onceward_consumer_conflicts'), 2)
      assert.deepEqual(by('onceward_effect_skips', 'reason'), { marker: 5 })
      assert.equal(
        total('onceward_inbox_inserted_markers'),
        16 + 1 + 2 + 1,
        'new ids: those before, the stranger, failing, parked',
      )
      assert.deepEqual(by('onceward_consumer_failed_attempts', 'class'), { transient: 6 })
      assert.deepEqual(by('onceward_consumer_retries', 'class'), { transient: 4 })
      assert.deepEqual(by('onceward_consumer_retries', 'reason'), { ECONNRESET: 4 })
      assert.deepEqual(by('onceward_consumer_exhausted_messages', 'class'), { transient: 2 })
      assert.deepEqual(by('onceward_consumer_unreadable_messages', 'reason'), {
        undecodable: 3,
        'unknown type': 1,
      })
      assert.deepEqual(by('onceward_consumer_poison_messages', 'reason'), {
        undecodable: 3,
        'unknown type': 1,
      })
      assert.deepEqual(by('onceward_consumer_set_aside_messages', 'outcome'), { quarantined: 5, parked: 4 })
      assert.deepEqual(by('onceward_consumer_set_aside_messages', 'class'), {
        poison: 4,
        corruption: 2,
        transient: 2,
        verdict: 1,
      })
      assert.equal(total('onceward_consumer_dead_letters'), 0, 'the contract names no destination')
      for (const metric of [
        'duplicates',
        'retries',
        'set_aside_messages',
        'poison_messages',
        'unreadable_messages',
      ])
        assert.deepEqual(
          Object.keys(by(`onceward_consumer_${metric}`, 'messaging_destination_name')),
          ['counted_in'],
          metric,
        )
      assert.equal(total('onceward_external_calls', { target: 'gateway', result: 'completed' }), 3)
      assert.equal(gateway.calls.length, 3)
      assert.equal(now.sum('messaging_client_sent_messages_total', { broker: 'postgres' }), 4)
      assert.equal(total('onceward_consumer_ack_failures'), 0)
      assert.equal(total('onceward_consumer_commit_failures'), 0)
      assert.deepEqual(now.by('onceward_work_messages', 'state'), {
        stored: 0,
        waiting: 0,
        parked: 4,
        dead: 0,
        quarantined: 5,
      })
      assert.equal(now.sum('onceward_parking_used_ratio', { cap: 'total' }), 4 / 1_000_000)
      assert.deepEqual(now.by('onceward_consumer_attention_messages', 'reason'), {
        unreadable: 4,
        conflict: 2,
        exhausted: 2,
        'set aside': 1,
      })
      assert.ok(now.sum('onceward_consumer_attention_oldest_age_seconds', { reason: 'unreadable' }) > 0)
      assert.equal(now.sum('onceward_consumer_attention_oldest_age_seconds', { reason: 'poison' }), 0)
      assert.ok(now.sum('onceward_consumer_gauges_age_seconds') <= 15)
      assert.equal(now.sum('onceward_consumer_up', { consumer: 'counted' }), 1)
      assert.equal(now.sum('onceward_consumer_info', { owner: 'tests', risk: 'projection' }), 1)
      assert.ok(now.sum('messaging_process_duration_seconds_count', { stage: 'inline' }) > 0)
      assert.ok(now.sum('onceward_external_call_duration_seconds_count') === 3)
      assert.ok(![...now.values.keys()].some(series => /plain-|evil|call-/.test(series)), 'no ids in labels')
    } finally {
      run.child.kill('SIGTERM')
      await run.ended
    }
  })

  test('a port that is taken is one clear error, and nothing is started', async () => {
    const taken = createServer()
    await new Promise<void>(resolve => taken.listen(0, '127.0.0.1', resolve))
    const { port } = taken.address() as { port: number }
    try {
      for (const command of [
        ['run', path('counted-consumer.ts')],
        ['relay', '--broker', 'postgres'],
      ]) {
        const run = start(...command, '--metrics-host', '127.0.0.1', '--metrics-port', String(port))
        const [code] = await run.ended
        assert.equal(code, 1)
        assert.match(
          run.said(),
          /^error .*127\.0\.0\.1:\d+: the port is taken.*Nothing was started.*--no-metrics/,
        )
        assert.equal(run.said().trim().split('\n').length, 1)
      }
      const wrong = start('run', path('counted-consumer.ts'), '--metrics-port', '70000')
      assert.equal((await wrong.ended)[0], 2)
      assert.match(wrong.said(), /is not a valid metrics port/)
    } finally {
      taken.close()
    }
  })

  test('the usual port may be taken by another consumer: any free one is used, and logged', async () => {
    const taken = createServer()
    const take = () =>
      new Promise<boolean>(resolve => {
        taken.once('error', () => resolve(false)).listen(9464, '127.0.0.1', () => resolve(true))
      })
    try {
      for (;;) {
        // Taken by somebody else already is as good, unless they leave it before our relay looks.
        const ours = await take()
        const run = start('relay', '--broker', 'postgres', '--json')
        try {
          await until('it says where', () => run.url() !== undefined)
          const { port } = new URL(run.url()!)
          if (!ours && port === '9464') continue
          assert.notEqual(port, '9464')
          assert.match(run.said(), /default metrics port is in use/)
          break
        } finally {
          run.child.kill('SIGTERM')
          await run.ended
        }
      }
    } finally {
      taken.close()
    }
  })

  test('a relay alone serves its metrics', async () => {
    const run = start('relay', '--broker', 'postgres', '--metrics-port', '0', '--json')
    try {
      await until('it says where', () => run.url() !== undefined)
      await until('it is ready', async () => (await fetch(`${run.url()}/readyz`)).status === 200)
      const now = await scrape(run.url()!)
      assert.equal(now.sum('onceward_outbox_oldest_age_seconds', { broker: 'postgres' }), 0)
    } finally {
      run.child.kill('SIGTERM')
      await run.ended
    }
  })
})
