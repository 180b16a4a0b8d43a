import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineConsumer, runConsumer } from 'onceward'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { createDatabase, skipWithout } from '../services/services.ts'

const hotRows = 40
const messages = 10_000

describe(
  'handlers of two processes that write the same rows in any order',
  await skipWithout('postgres'),
  () => {
    test('deadlock a few times at most, and all are applied once', { timeout: 240_000 }, async () => {
      await using database = await openDatabase()
      const { pool } = database
      await publish(
        pool,
        'hot',
        Array.from({ length: messages }, (_, n) => ({
          body: JSON.stringify({ id: `m-${n}`, row: (Math.imul(n ^ (n >>> 7), 0x9e3779b1) >>> 8) % hotRows }),
        })),
      )
      const contract = defineConsumer<{ id: string; row: number }>({
        name: 'hot',
        owner: 'tests',
        risk: 'low value',
        source: postgresQueue('hot'),
        identity: { id: m => m.id },
        batch: { sizeMax: 100 },
        retention: { markers: '1d', sourceKeeps: '1h' },
        async handle({ message, tx }) {
          await tx.query('update counter set total = total + 1 where id = $1', [message.row])
        },
      })
      // Apart from each other as two processes are: each has its own pool, store and lock.
      const running = await Promise.all(
        [1, 2].map(() => runConsumer(contract, { databaseUrl: database.url, parts: ['consumer'] })),
      )
      try {
        await until('all are applied', async () => (await database.total()) === messages, {
          deadlineMs: 200_000,
        })
        assert.ok(running.every(({ consumer }) => (consumer!.tally.outcomes.applied ?? 0) > 0))
      } finally {
        await Promise.all(running.map(one => one.drain()))
      }
      const deadlocks = await database.deadlocks()
      assert.ok(deadlocks <= 8, `${deadlocks} deadlocks`)
    })
  },
)

async function openDatabase() {
  const database = await createDatabase()
  const pool = createPool(database.url)
  await migrate(pool)
  await pool.query(`create table counter (id integer primary key, total integer not null default 0)`)
  await pool.query(`insert into counter (id) select generate_series(0, ${hotRows - 1})`)
  await createQueue(pool, 'hot')
  return {
    url: database.url,
    pool,
    async total() {
      const { rows } = await pool.query('select sum(total)::int as total from counter')
      return rows[0].total as number
    },
    async deadlocks() {
      await pool.query('select pg_stat_force_next_flush()')
      const { rows } = await pool.query(
        'select deadlocks::int as deadlocks from pg_stat_database where datname = current_database()',
      )
      return rows[0].deadlocks as number
    },
    async [Symbol.asyncDispose]() {
      await pool.end()
      await database.drop()
    },
  }
}
