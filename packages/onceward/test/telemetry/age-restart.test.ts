import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type ConsumerContract, defineConsumer, realEnvironment, runConsumer } from 'onceward'
import { file } from 'onceward/file'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { until } from 'onceward/testing'
import { startObserveServer } from '../../src/runtime/observe-server.ts'
import type { Health } from '../../src/runtime/run-health.ts'
import { startTcpProxy } from '../proxy/tcp-proxy.ts'
import { createTestQueue } from '../rabbitmq/broker.ts'
import { createDatabase, skipWithout } from '../services/services.ts'
import { scrape } from './scraped.ts'

const lag = 'onceward_consumer_effect_lag_seconds'
const base = {
  owner: 'tests',
  risk: 'low value',
  identity: { id: { property: 'messageId' } },
  failure: { breaker: false, brake: false },
} as const

describe('the age of a message without a timestamp', await skipWithout('postgres', 'rabbitmq'), () => {
  test('survives the kill of its process', { timeout: 120_000 }, async t => {
    const { pool, url, hourOlder, rows } = await openStore(t)
    const parcels = await createTestQueue(t)
    await assertQuorum(parcels)
    await sendWithId(parcels, 'm1')
    const orders = { databaseUrl: url, rabbitmqUrl: parcels.url, name: parcels.name }
    const first = startChild(t, orders)
    await until('its first-seen time is recorded', async () => (await rows()).length === 1)
    await first.kill()
    await hourOlder()
    const second = startChild(t, orders)
    await until('the next process knows the age', () => second.ageSeconds() >= 3_600)
    assert.ok(second.ageSeconds() < 3_700)
    assert.deepEqual(await rows(), ['m1'])
    assert.equal((await pool.query('select from onceward.inbox')).rows.length, 0)
  })

  test('survives a lost connection, and its row ends with the message', { timeout: 120_000 }, async t => {
    const { rows, run } = await openStore(t)
    const parcels = await createTestQueue(t)
    await assertQuorum(parcels)
    const { hostname, port } = new URL(parcels.url)
    const proxy = await startTcpProxy({ host: hostname, port: Number(port) })
    t.after(() => proxy.close())
    let open = false
    let tries = 0
    const { lagOf, seen } = await run({
      ...base,
      name: 'cut',
      source: queue(parcels.name, { url: proxy.through(parcels.url) }),
      async handle() {
        tries++
        await until('the gate is open', () => open, { deadlineMs: 100_000 })
      },
    })
    await sendWithId(parcels, 'm1')
    await until('its first-seen time is recorded', async () => {
      await lagOf()
      return (await rows()).length === 1
    })
    const before = await lagOf()
    proxy.cut()
    await until('it is delivered again', async () => (await seen('redelivered_messages')) === 1)
    assert.ok((await lagOf()) >= before, 'it is as old as before')
    open = true
    await until('it is finished', async () => (await lagOf()) === 0)
    await until('its row is gone', async () => (await rows()).length === 0)
    assert.ok(tries >= 1)
  })

  test('survives a restart on a log without timestamps, by partition', { timeout: 120_000 }, async t => {
    const { hourOlder, rows, run } = await openStore(t)
    const folder = mkdtempSync(join(tmpdir(), 'onceward-age-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const path = join(folder, 'lines.jsonl')
    writeFileSync(path, '{}\n')
    const stuck = {
      ...base,
      name: 'lines',
      source: file(path),
      identity: { id: 'position' },
      dedup: 'checkpoint',
      order: 'partition',
      handle: ({ signal }) => new Promise<void>(resolve => signal.addEventListener('abort', () => resolve())),
    } satisfies ConsumerContract
    const first = await run(stuck)
    await until('its first-seen time is recorded', async () => {
      await first.lagOf()
      return (await rows()).length === 1
    })
    assert.ok((await first.lagOf()) >= 4)
    await first.running.drain(0).catch(() => {})
    assert.equal((await rows()).length, 1, 'it was given back, not finished')
    await hourOlder()
    const second = await run(stuck)
    await until('the next run knows the age', async () => (await second.lagOf()) >= 3_600)
    await second.running.drain(0).catch(() => {})
  })

  test('counts from its first failed attempt', { timeout: 120_000 }, async t => {
    const { pool, run } = await openStore(t)
    await createQueue(pool, 'fails')
    const { lagOf } = await run({
      ...base,
      name: 'fails',
      source: postgresQueue('fails'),
      failure: { ...base.failure, attemptsMax: 100, delayMs: 600_000, delayMaxMs: 600_000 },
      handle() {
        throw new Error('always')
      },
    })
    await publish(pool, 'fails', [{ messageId: 'm1', body: '{}', properties: { messageId: 'm1' } }])
    await until('it failed', async () => {
      const { rowCount } = await pool.query(`update onceward.attempt set at = at - interval '1 hour'`)
      return rowCount === 1
    })
    await until('the age is known', async () => (await lagOf()) >= 3_600)
  })

  test('costs a consumer nothing whose messages are quick', { timeout: 120_000 }, async t => {
    const { pool, run } = await openStore(t)
    await createQueue(pool, 'quick')
    await pool.query(`create function seen() returns trigger language plpgsql as $$ begin raise exception 'written'; end $$;
      create trigger seen before insert on onceward.first_seen for each statement execute function seen()`)
    let done = 0
    const { lagOf } = await run({
      ...base,
      name: 'quick',
      source: postgresQueue('quick'),
      handle: () => void done++,
    })
    for (let round = 1; round <= 3; round++) {
      const messages = Array.from({ length: 500 }, (_, n) => `${round}.${n}`)
      await publish(
        pool,
        'quick',
        messages.map(messageId => ({ messageId, body: '{}', properties: { messageId } })),
      )
      await until('they are applied', async () => {
        await lagOf()
        return done === round * 500
      })
    }
    assert.equal((await pool.query('select from onceward.first_seen')).rows.length, 0)
  })
})

type TestQueue = Awaited<ReturnType<typeof createTestQueue>>

async function assertQuorum({ channel, name }: TestQueue) {
  await channel.assertQueue(name, { arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': -1 } })
}

async function sendWithId({ channel, name }: TestQueue, messageId: string) {
  channel.sendToQueue(name, Buffer.from('{}'), { messageId, persistent: true })
  await (channel as unknown as { waitForConfirms(): Promise<void> }).waitForConfirms()
}

async function openStore(t: TestContext) {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 3 })
  await migrate(pool)
  const ends: (() => Promise<unknown>)[] = []
  t.after(async () => {
    for (const end of ends) await end().catch(() => {})
    await pool.end()
    await database.drop()
  })
  return {
    pool,
    url: database.url,
    rows: async () =>
      (await pool.query('select message_id from onceward.first_seen')).rows.map(row => row.message_id),
    hourOlder: () => pool.query(`update onceward.first_seen set at = at - interval '1 hour'`),
    async run(contract: ConsumerContract) {
      const server = await startObserveServer({ host: '127.0.0.1', port: 0 })
      const running = await runConsumer(defineConsumer(contract), {
        databaseUrl: database.url,
        env: realEnvironment({ meter: server.meter }),
      })
      ends.push(
        () => running.drain(0),
        () => server.close(),
      )
      const page = () => scrape(server.url)
      return {
        running,
        lagOf: async () => (await page()).sum(lag),
        seen: async (counter: string) => (await page()).sum(`onceward_consumer_${counter}_total`),
      }
    },
  }
}

function startChild(t: TestContext, orders: object) {
  const program = fileURLToPath(new URL('age-child.ts', import.meta.url))
  const child: ChildProcess = spawn(process.execPath, ['--conditions=@onceward/source', program], {
    env: { ...process.env, AGE_ORDERS: JSON.stringify(orders) },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  let health: Health | null = null
  child.on('message', message => {
    health = message as Health
  })
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise(resolve => child.once('exit', resolve))
    child.kill('SIGKILL')
    await ended
  }
  t.after(kill)
  return { kill, ageSeconds: () => health?.oldestUnfinishedSeconds ?? 0 }
}
