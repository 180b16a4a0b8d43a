import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { describe, test } from 'node:test'
import { defineConsumer, runConsumer } from 'onceward'
import { createPool, migrate } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { until } from 'onceward/testing'
import { createTestQueue, type TestQueue } from '../rabbitmq/broker.ts'
import { startPrivatePostgres } from '../services/private-postgres.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

interface Payment {
  readonly id: string
  readonly account: string
  readonly amount: number
}

const accounts = Array.from({ length: 40 }, (_, n) => `account-${n}`)
const waiting = { deadlineMs: 90_000 }

describe('one consumer over two PostgreSQL servers', await skipWithout('postgres', 'rabbitmq'), () => {
  test('applies each payment once in the shard of its account, while one server is killed and comes back', async t => {
    await using server = await startPrivatePostgres()
    const database = await createDatabase()
    t.after(() => database.drop())
    const shards = [
      await openShard(database.url, await createTestQueue(t)),
      await openShard(server.url, await createTestQueue(t)),
    ] as const
    t.after(() => Promise.all(shards.map(shard => shard.close())))

    await send(shards, 'before', 300)
    await until('all are applied', async () => (await total(shards)) === 300, waiting)
    process.kill(server.pid, 'SIGKILL')
    await send(shards, 'during', 300)
    const expected = paymentsOf('during', 300).filter(payment => shardOf(payment.account) === 0)
    await until(
      'the other shard continues',
      async () => (await shards[0].applied()).ids >= countOf(0, 'before') + expected.length,
      waiting,
    )
    await server.stop().catch(() => {})
    await server.start()
    await until('all are applied', async () => (await total(shards)) === 600, waiting)

    for (const [index, shard] of shards.entries()) {
      const { ids, times, misplaced } = await shard.applied()
      assert.deepEqual({ ids, times }, { ids: countOf(index, 'before', 'during'), times: ids })
      assert.deepEqual(misplaced, [])
      assert.deepEqual(await shard.balances(), balancesOf(index, 'before', 'during'))
    }
  })
})

function shardOf(account: string): 0 | 1 {
  return (Number.parseInt(hash('sha256', account).slice(0, 8), 16) % 2) as 0 | 1
}

function paymentsOf(name: string, count: number): Payment[] {
  return Array.from({ length: count }, (_, n) => ({
    id: `${name}-${n}`,
    account: accounts[n % accounts.length]!,
    amount: 1 + (n % 7),
  }))
}

const inShard = (shard: number, names: readonly string[]) =>
  names.flatMap(name => paymentsOf(name, 300)).filter(payment => shardOf(payment.account) === shard)
const countOf = (shard: number, ...names: string[]) => inShard(shard, names).length

function balancesOf(shard: number, ...names: string[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { account, amount } of inShard(shard, names)) sums[account] = (sums[account] ?? 0) + amount
  return sums
}

type Shard = Awaited<ReturnType<typeof openShard>>

/** Each payment twice. */
async function send(shards: readonly Shard[], name: string, count: number): Promise<void> {
  const payments = paymentsOf(name, count)
  for (const payment of [...payments, ...payments])
    await shards[shardOf(payment.account)]!.send(JSON.stringify(payment))
}

async function total(shards: readonly Shard[]): Promise<number> {
  const applied = await Promise.all(shards.map(shard => shard.applied()))
  return applied.reduce((sum, { ids }) => sum + ids, 0)
}

async function openShard(databaseUrl: string, { name, url, send }: TestQueue) {
  const pool = createPool(databaseUrl, { max: 2 })
  await migrate(pool)
  await pool.query(`create table applied (id text not null, account text not null);
    create table balance (account text primary key, total integer not null)`)
  const consumer = defineConsumer({
    name: 'payments',
    owner: 'tests',
    risk: 'money',
    source: queue(name, { url, singleActiveConsumer: true }),
    retention: { sourceKeeps: '7d' },
    identity: { id: (payment: Payment) => payment.id, orderKey: payment => payment.account },
    order: 'key',
    async handle({ message: { id, account, amount }, tx }) {
      await tx.query('insert into applied (id, account) values ($1, $2)', [id, account])
      await tx.query(
        `insert into balance (account, total) values ($1, $2)
         on conflict (account) do update set total = balance.total + excluded.total`,
        [account, amount],
      )
    },
  })
  const running = await runConsumer(consumer, { databaseUrl })
  const rows = async (text: string) =>
    (await pool.query(text).catch(() => ({ rows: [] as Record<string, never>[] }))).rows
  return {
    send,
    async applied() {
      const found = await rows('select id, account from applied')
      return {
        ids: new Set(found.map(row => row.id)).size,
        times: found.length,
        misplaced: found.filter(row => shardOf(row.account!) !== shardOf(found[0]!.account!)),
      }
    },
    async balances() {
      const found = await rows('select account, total from balance')
      return Object.fromEntries(found.map(row => [row.account, row.total])) as Record<string, number>
    },
    async close() {
      await running.drain(5_000)
      await pool.end()
    },
  }
}
