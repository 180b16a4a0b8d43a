import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createPool, migrate } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { createBroker, urlsFor } from '../crash/brokers.ts'
import { startGateway } from '../crash/gateway.ts'
import { killWorker, spawnWorker, type Worker } from '../crash/worker.ts'
import { tables } from '../crash/workload.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

const charge = (n: number) => ({
  id: `charge-${n}`,
  body: JSON.stringify({ id: `charge-${n}`, kind: 'charge', amount: n }),
})
const charges = (count: number) => Array.from({ length: count }, (_, n) => charge(n))

describe('two processes on one stream', {
  timeout: 280_000,
  ...(await skipWithout('postgres', 'rabbitmq')),
}, () => {
  test('the active one is killed with kill -9: the other continues there, and each effect happens once', async () => {
    await using env = await openEnvironment()
    // The first to come is the active one. It stands still in the middle, so that no kill comes too late.
    const [one] = await env.spawn(1, { freezeIn: 'charge-200', handlerTimeoutMs: 60_000 })
    const [other] = await env.spawn(1)
    await env.broker.publish(charges(1_500))
    await one!.frozen
    await until('a part is applied', async () => (await env.applied()) > 50)
    assert.equal(await env.activeOf([one!, other!]), one)
    await killWorker(one!)
    const before = await env.applied()
    assert.ok(before < 1_500, 'killed in the middle of the work')
    await until('everything is applied', async () => (await env.applied()) === 1_500)
    await until('the broker knows', async () => (await env.broker.depth()) === 0)
    assert.deepEqual(await env.twice(), [])
  })

  test("the active one is frozen: the other takes over, and the frozen one's transactions are fenced", async () => {
    await using env = await openEnvironment()
    const [frozen] = await env.spawn(1, { freezeIn: 'charge-3', handlerTimeoutMs: 1_000 })
    await env.broker.publish(charges(10))
    await frozen!.frozen
    frozen!.process.kill('SIGSTOP')
    await env.spawn(1)
    // The broker notices when heartbeats are missing.
    await until('the other applied all', async () => (await env.applied()) === 10, { deadlineMs: 90_000 })
    frozen!.process.kill('SIGCONT')
    await env.broker.publish([charge(10)])
    await until('reading goes on', async () => (await env.applied()) === 11)
    assert.deepEqual(await env.twice(), [])
  })
})

async function openEnvironment() {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 2 })
  await migrate(pool)
  await pool.query(tables)
  const urls = await urlsFor('rabbitmq-stream', database.url)
  const broker = await createBroker('rabbitmq-stream', urls)
  const gateway = await startGateway()
  const spawned: Worker[] = []
  return {
    broker,
    applied: async () => (await pool.query('select count(*)::int from effect')).rows[0].count as number,
    twice: async () => (await pool.query('select id from effect where times <> 1')).rows,
    async spawn(count: number, extra: { freezeIn?: string; handlerTimeoutMs?: number } = {}) {
      const workers = Array.from({ length: count }, () =>
        spawnWorker({
          task: 'consume',
          databaseUrl: database.url,
          urls,
          gatewayUrl: gateway.url,
          declaration: broker.declaration,
          deadLetter: broker.deadLetter,
          ledgerLeaseMs: 3_000,
          // Until it is stopped, the one that is to freeze runs into its time-out again and again.
          attemptsMax: 50,
          ...extra,
        }),
      )
      spawned.push(...workers)
      await Promise.all(workers.map(worker => worker.running))
      return workers
    },
    /** The process whose run wrote the markers. */
    async activeOf(workers: readonly Worker[]): Promise<Worker> {
      const { rows } = await pool.query(
        'select distinct instance from onceward.run where id in (select run_id from onceward.inbox)',
      )
      const active = workers.filter(({ process: { pid } }) =>
        rows.some(({ instance }) => String(instance).startsWith(`${pid}@`)),
      )
      assert.equal(active.length, 1, 'one of them does all the work')
      return active[0]!
    },
    async [Symbol.asyncDispose]() {
      for (const worker of spawned) worker.process.kill('SIGKILL')
      await Promise.all(spawned.map(worker => worker.ended))
      await gateway.close()
      await broker.close()
      await pool.end()
      await database.drop()
    },
  }
}
