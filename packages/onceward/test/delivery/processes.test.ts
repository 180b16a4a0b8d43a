import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createPool, migrate } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { createBroker, urlsFor } from '../crash/brokers.ts'
import { startGateway } from '../crash/gateway.ts'
import { killWorker, spawnWorker } from '../crash/worker.ts'
import { tables } from '../crash/workload.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

for (const kind of ['postgres', 'rabbitmq'] as const) {
  describe(`several processes on ${kind}`, await skipWithout('postgres', kind), () => {
    test('twenty concurrent duplicates across four processes have one effect', async () => {
      await using env = await openEnvironment(kind)
      const charge = (id: string, amount: number) => ({
        id,
        body: JSON.stringify({ id, kind: 'charge', amount }),
      })
      const workers = await env.spawn(4)
      const copies = Array.from({ length: 20 }, () =>
        Array.from({ length: 10 }, (_, n) => charge(`charge-${n}`, n)),
      )
      await env.broker.publish(copies.flat())
      await until(
        'all intents are completed',
        async () => (await env.count(`onceward.ledger where state = 'completed'`)) === 10,
      )
      await env.consumeRest(workers)
      assert.deepEqual(
        await env.effects(),
        Array.from({ length: 10 }, (_, n) => ({ id: `charge-${n}`, times: 1 })),
      )
      assert.equal(env.gateway.calls.size, 10)
      assert.equal(await env.count('onceward.held'), 0)
    })

    test('one id with two payloads, racing in both orders: one applied, the other quarantined', async () => {
      await using env = await openEnvironment(kind)
      const both = (n: number) =>
        [1, 2].map(amount => ({
          id: null,
          body: JSON.stringify({ id: `charge-${n}`, kind: 'charge', amount }),
        }))
      const workers = await env.spawn(3)
      await env.broker.publish(
        Array.from({ length: 20 }, (_, n) => (n % 2 ? both(n) : both(n).reverse())).flat(),
      )
      await until(
        'all are decided',
        async () => (await env.count('onceward.inbox')) + (await env.count('onceward.held')) === 40,
      )
      await until(
        'all intents are completed',
        async () => (await env.count(`onceward.ledger where state = 'completed'`)) === 20,
      )
      await env.consumeRest(workers)
      assert.equal((await env.effects()).filter(row => row.times !== 1).length, 0)
      assert.equal(await env.count(`onceward.held where state = 'quarantined' and code = 'conflict'`), 20)
      for (const bytes of env.gateway.calls.values()) assert.equal(new Set(bytes).size, 1)
    })

    test('a process frozen with an uncommitted marker delays others only briefly, and is fenced when it resumes', async () => {
      await using env = await openEnvironment(kind)
      const [frozen] = await env.spawn(1, { freezeIn: 'charge-0', handlerTimeoutMs: 1_000 })
      await env.broker.publish([
        { id: 'charge-0', body: JSON.stringify({ id: 'charge-0', kind: 'charge', amount: 1 }) },
      ])
      await frozen!.frozen
      frozen!.process.kill('SIGSTOP')
      const others = await env.spawn(1)
      // RabbitMQ gives a delivery to another only when the frozen one's heartbeats have been missed, after
      // half a minute, and hands new ones to both meanwhile: copies stand in for the redelivery.
      if (kind === 'rabbitmq') {
        const copy = { id: 'charge-0', body: JSON.stringify({ id: 'charge-0', kind: 'charge', amount: 1 }) }
        await env.broker.publish([copy, copy, copy, copy])
      }
      await until('the other process applied it', async () => (await env.count('effect')) === 1)
      frozen!.process.kill('SIGCONT')
      await until(
        'the intent is completed',
        async () => (await env.count(`onceward.ledger where state = 'completed'`)) === 1,
      )
      await stop(others)
      await killWorker(frozen!)
      assert.deepEqual(await env.effects(), [{ id: 'charge-0', times: 1 }])
      assert.equal(env.gateway.calls.get('charge-0')?.length, 1)
    })
  })
}

async function openEnvironment(kind: 'postgres' | 'rabbitmq') {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 2 })
  await migrate(pool)
  await pool.query(tables)
  const urls = await urlsFor(kind, database.url)
  const broker = await createBroker(kind, urls)
  const gateway = await startGateway()
  const spawned: ReturnType<typeof spawnWorker>[] = []
  return {
    broker,
    gateway,
    /**
     * Until the broker holds nothing: what a stopping process had fetched but not begun goes back and is
     * taken again.
     */
    async consumeRest(workers: ReturnType<typeof spawnWorker>[]) {
      for (let current = workers; ; current = await this.spawn(1)) {
        await until('nothing is waiting', async () => (await broker.depth()) === 0)
        await stop(current)
        if ((await broker.depth()) === 0) return
      }
    },
    async spawn(processes: number, extra: { freezeIn?: string; handlerTimeoutMs?: number } = {}) {
      const workers = Array.from({ length: processes }, () =>
        spawnWorker({
          task: 'consume',
          databaseUrl: database.url,
          urls,
          gatewayUrl: gateway.url,
          declaration: broker.declaration,
          deadLetter: broker.deadLetter,
          // Nobody dies with a call in flight: a lease that a slow machine outlasts would only be a second
          // call.
          ledgerLeaseMs: 60_000,
          // Until it is stopped, the one that is to freeze runs into its time-out again and again.
          attemptsMax: 50,
          ...extra,
        }),
      )
      spawned.push(...workers)
      await Promise.all(workers.map(worker => worker.running))
      return workers
    },
    count: async (from: string) =>
      (await pool.query(`select count(*)::int from ${from}`)).rows[0].count as number,
    effects: async () =>
      (await pool.query(`select id, times from effect order by length(id), id`)).rows as {
        id: string
        times: number
      }[],
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

async function stop(workers: readonly ReturnType<typeof spawnWorker>[]): Promise<void> {
  for (const worker of workers) worker.process.kill('SIGTERM')
  for (const worker of workers) assert.equal((await worker.ended).code, 0)
}
