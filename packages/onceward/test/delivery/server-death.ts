import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { createPool, migrate } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { createBroker, urlsFor } from '../crash/brokers.ts'
import { startGateway } from '../crash/gateway.ts'
import { spawnWorker } from '../crash/worker.ts'
import { tables } from '../crash/workload.ts'
import { createDatabase, killService, startService } from '../services/services.ts'

const messages = 4_000

/** Two processes consume while a server is killed and started again: all arrive, each once. */
export async function surviveDeath(
  kind: 'postgres' | 'rabbitmq' | 'rabbitmq-stream',
  victim: 'postgres' | 'rabbitmq',
  t: TestContext,
): Promise<void> {
  await using cleanup = new AsyncDisposableStack()
  const database = await createDatabase()
  cleanup.defer(() => database.drop())
  const pool = createPool(database.url, { max: 2 })
  cleanup.defer(() => pool.end())
  await migrate(pool)
  await pool.query(tables)
  const urls = await urlsFor(kind, database.url)
  const broker = await createBroker(kind, urls)
  const gateway = await startGateway()
  cleanup.defer(() => gateway.close())
  const charges = Array.from({ length: messages }, (_, n) => ({
    id: `charge-${n}`,
    body: JSON.stringify({ id: `charge-${n}`, kind: 'charge', amount: n }),
  }))
  await broker.publish(charges)
  const orders = {
    task: 'consume' as const,
    databaseUrl: database.url,
    urls,
    gatewayUrl: gateway.url,
    declaration: broker.declaration,
    deadLetter: broker.deadLetter,
    ledgerLeaseMs: 5_000,
  }
  const workers = [spawnWorker(orders), spawnWorker(orders)]
  cleanup.defer(() => {
    for (const worker of workers) worker.process.kill('SIGKILL')
  })
  await Promise.all(workers.map(worker => worker.running))
  const applied = async () => (await pool.query('select count(*)::int from effect')).rows[0].count as number
  await until('a part is applied', async () => (await applied()) > messages / 20)
  const before = await applied()
  await killService(victim)
  await startService(victim)
  assert.ok(before < messages, 'the server was killed in the middle of the work')
  await until('everything is applied', async () => (await applied().catch(() => 0)) === messages, {
    deadlineMs: 150_000,
  })
  const owed = `select count(*)::int from onceward.ledger where state <> 'completed'`
  await until('every intent is completed', async () => (await pool.query(owed)).rows[0].count === 0, {
    deadlineMs: 100_000,
  })
  // What was applied and not told before the death comes again: a process that leaves would hand it back.
  await until('nothing is waiting', async () => (await broker.depth()) === 0)
  for (const worker of workers) worker.process.kill('SIGTERM')
  for (const worker of workers) {
    const { code, stderr } = await worker.ended
    assert.equal(code, 0, stderr)
  }
  const { rows } = await pool.query('select count(*)::int, sum(times)::int as times from effect')
  assert.deepEqual(rows[0], { count: messages, times: messages })
  assert.equal(gateway.calls.size, messages)
  for (const bytes of gateway.calls.values()) assert.equal(new Set(bytes).size, 1)
  assert.equal(await broker.depth(), 0)
  t.diagnostic(`${before} of ${messages} were applied when the server died`)
  await broker.close()
}
