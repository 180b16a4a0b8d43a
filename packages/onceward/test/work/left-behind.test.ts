import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import {
  type ConsumerContract,
  defineConsumer,
  realEnvironment,
  retryAfter,
  runConsumer,
  type SqlTransaction,
} from 'onceward'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { startObserveServer } from '../../src/runtime/observe-server.ts'
import { catalogue, prometheusName } from '../../src/telemetry/catalogue.ts'
import { readStatus } from '../../src/telemetry/read-status.ts'
import { createDatabase, skipWithout } from '../services/services.ts'
import { scrape } from '../telemetry/scraped.ts'

type Contract = ConsumerContract<{ id: string }, SqlTransaction>
type Part = NonNullable<Parameters<typeof runConsumer>[1]['parts']>[number]

const base: Contract = {
  name: 'orders',
  owner: 'tests',
  risk: 'projection',
  source: postgresQueue('orders'),
  identity: { id: message => message.id },
  async handle({ message, tx }) {
    await tx.query('insert into done (id) values ($1)', [message.id])
  },
}
const stored: Contract = { ...base, inbox: { mode: 'stored' } }

const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))

/** What `onceward status` prints. */
async function status(url: string): Promise<string> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--conditions=@onceward/source', main, 'status'],
    { env: { ...process.env, ONCEWARD_DATABASE_URL: url } },
  )
  return stdout
}

async function open(t: TestContext) {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 3 })
  t.after(async () => {
    await pool.end()
    await database.drop()
  })
  await migrate(pool)
  await createQueue(pool, 'orders')
  await pool.query('create table done (id text primary key)')
  const start = (contract: Contract, parts?: readonly Part[]) =>
    runConsumer(defineConsumer(contract), { databaseUrl: database.url, ...(parts && { parts }) })
  const held = async () =>
    (await pool.query('select state::text from onceward.held order by id')).rows.map(
      row => row.state as string,
    )
  const done = async () =>
    (await pool.query('select id from done order by id')).rows.map(row => row.id as string)
  /** A reader without a worker acknowledges these and leaves. */
  const leave = async (contract: Contract, ...ids: readonly string[]) => {
    const reader = await start(contract, ['consumer'])
    await publish(
      pool,
      'orders',
      ids.map(id => ({ body: { id } })),
    )
    await until('they are held', async () => (await held()).length === ids.length)
    await reader.drain()
  }
  return { pool, start, held, done, leave, url: database.url }
}

describe('work that a process acknowledged and did not finish', await skipWithout('postgres'), () => {
  for (const [how, contract] of [
    ['stored', stored],
    ['deferred', { ...base, failure: { mode: 'defer' }, handle: () => retryAfter(3_600_000) }],
  ] as const)
    test(`${how} under another generation: the next one is refused until it is done`, async t => {
      const { pool, start, held, done, leave, url } = await open(t)
      await leave(contract, 'a', 'b')
      const next = { ...base, generation: 2 }
      await assert.rejects(start(next), {
        code: 'configuration',
        message: /Generation 1 of consumer orders has 2 acknowledged messages .* --part worker/,
      })
      const { unserved } = await readStatus(pool)
      assert.deepEqual(unserved, [{ consumer: 'orders', generation: 1, campaign: null, waiting: 2 }])
      assert.match(
        await status(url),
        /2 acknowledged messages wait for a worker of orders, generation 1\. Run its contract/,
      )
      await pool.query('update onceward.held set due_at = clock_timestamp()')
      const worker = await start(base, ['worker'])
      await until('they are done', async () => (await done()).length === 2)
      await worker.drain()
      assert.deepEqual([await held(), (await readStatus(pool)).unserved], [[], []])
      const running = await start(next)
      await publish(pool, 'orders', [{ body: { id: 'c' } }])
      await until('the next generation runs', async () => (await done()).length === 3)
      await running.drain()
    })

  test('does not keep the next generation from starting beside a worker of the last', async t => {
    const { start, leave, pool, done } = await open(t)
    await leave({ ...base, failure: { mode: 'defer' }, handle: () => retryAfter(3_600_000) }, 'a')
    const worker = await start({ ...stored, generation: 1 }, ['worker'])
    const running = await start({ ...base, generation: 2 })
    assert.deepEqual((await readStatus(pool)).unserved, [])
    await publish(pool, 'orders', [{ body: { id: 'b' } }])
    await until('it runs', async () => (await done()).length === 1)
    await running.drain()
    await worker.drain()
  })

  test('is applied by the workers of a contract that no longer uses stored mode', async t => {
    const { start, leave, done, pool } = await open(t)
    await leave(stored, 'a', 'b')
    const running = await start(base)
    await until('they are done', async () => (await done()).length === 2)
    await running.drain()
    assert.deepEqual((await readStatus(pool)).unserved, [])
  })

  test('of a consumer that was removed is shown by every process of the database', async t => {
    const { pool, leave, url } = await open(t)
    await leave(stored, 'a', 'b')
    await createQueue(pool, 'others')
    const server = await startObserveServer({ host: '127.0.0.1', port: 0 })
    t.after(() => server.close())
    const other = defineConsumer({ ...base, name: 'others', source: postgresQueue('others') })
    const running = await runConsumer(other, {
      databaseUrl: url,
      env: realEnvironment({ meter: server.meter }),
    })
    const name = prometheusName(catalogue.heldUnserved)
    const shown = async () => (await scrape(server.url)).by(name, 'waits_for')
    await until('it is shown', async () => (await shown())['a worker of orders, generation 1'] === 2, {
      deadlineMs: 30_000,
    })
    assert.equal((await shown())['a worker of others, generation 1'], 0)
    await running.drain()
  })
})
