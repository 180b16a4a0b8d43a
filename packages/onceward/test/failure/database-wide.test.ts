import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ConsumerContract, defineConsumer, runConsumer, type SqlTransaction } from 'onceward'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { createDatabase, skipWithout } from '../services/services.ts'

const patience = { deadlineMs: 60_000 }

describe('a database that cannot write', await skipWithout('postgres'), () => {
  test('uses no attempt of its messages, although it answers other statements', async t => {
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 2 })
    t.after(async () => {
      await pool.end()
      await database.drop()
    })
    await migrate(pool)
    await createQueue(pool, 'orders')
    await pool.query('create table done (id text primary key)')
    let full = true
    const tries = new Map<string, number>()
    const contract: ConsumerContract<{ id: string }, SqlTransaction> = {
      name: 'orders',
      owner: 'tests',
      risk: 'projection',
      source: postgresQueue('orders'),
      identity: { id: message => message.id },
      failure: { attemptsMax: 1, delayMs: 1, breaker: { pauseMs: 100, pauseMaxMs: 200 } },
      async handle({ message: { id }, tx }) {
        tries.set(id, (tries.get(id) ?? 0) + 1)
        if (full) await tx.query(`do $$ begin raise 'could not extend file' using errcode = '53100'; end $$`)
        await tx.query('insert into done (id) values ($1)', [id])
      },
    }
    await publish(pool, 'orders', [{ body: { id: 'a' } }, { body: { id: 'b' } }])
    const running = await runConsumer(defineConsumer(contract), { databaseUrl: database.url })
    const isTried = () => ['a', 'b'].every(id => (tries.get(id) ?? 0) >= 12)
    await until('both were tried longer than a batch waits for its store', isTried, patience)
    const left = async () =>
      (
        await pool.query(
          'select (select count(*) from onceward.attempt)::int as attempts, (select count(*) from onceward.held)::int as held',
        )
      ).rows[0]
    assert.deepEqual(await left(), { attempts: 0, held: 0 })
    full = false
    const done = async () => (await pool.query('select id from done order by id')).rows.map(row => row.id)
    await until('both are applied', async () => (await done()).length === 2, patience)
    await running.drain()
    assert.deepEqual([await done(), await left()], [['a', 'b'], { attempts: 0, held: 0 }])
  })
})
