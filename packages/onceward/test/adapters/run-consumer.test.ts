import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type DeclaredEffect, defineConsumer, runConsumer } from 'onceward'
import { createQueue, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { createDatabase, skipWithout } from '../services/services.ts'
import { libraries } from './libraries.ts'
import { type Job, openEffects, startConsumer } from './rig.ts'

const available = await skipWithout('postgres')

for (const library of libraries) {
  describe(`other features on the store of ${library.name}`, available, () => {
    test('a declared effect gets SQL, watched like any handler', async () => {
      await using database = await openEffects()
      const verified: unknown[] = []
      const insert: DeclaredEffect<Job> = {
        kind: 'insertion',
        problems: () => [],
        async verify(query) {
          verified.push((await query('select 1 as one')).rows)
        },
        async apply({ batch, tx }) {
          const keys = batch.map(({ message }) => message.id)
          const { rowCount } = await tx.query('insert into effect (key) select unnest($1::text[])', [keys])
          assert.equal(rowCount, keys.length)
        },
      }
      await using consumer = await startConsumer(database.url, library, { effect: { apply: insert } })
      consumer.publish('a', 'b', 'a')
      await consumer.settled()
      assert.deepEqual(verified, [[{ one: 1 }]])
      assert.deepEqual(await database.effects(), ['a', 'b'])
      assert.deepEqual(await database.markers(consumer.name), ['a applied', 'b applied'])
    })

    test('stored work is leased, applied once and finished in the same transaction', async () => {
      await using database = await openEffects()
      await using running = await start(database.url, { inbox: { mode: 'stored' } })
      await publish(
        database.pool,
        'jobs.q',
        [...'abca'].map(id => ({ body: Buffer.from(`{"id":"${id}"}`) })),
      )
      await until('all are applied', async () => (await database.effects()).length >= 3)
      await until('nothing is held', async () => {
        const { rows } = await database.pool.query('select count(*)::int from onceward.held')
        return rows[0].count === 0
      })
      await running.drain()
      assert.deepEqual(await database.effects(), ['a', 'b', 'c'])
      assert.deepEqual(await database.markers('jobs'), ['a applied', 'b applied', 'c applied'])

      async function start(url: string, contract: object) {
        await createQueue(database.pool, 'jobs.q')
        const opened = library.open(url)
        const consumer = defineConsumer<Job, unknown>({
          name: 'jobs',
          owner: 'tests',
          risk: 'money',
          source: postgresQueue('jobs.q'),
          identity: { id: m => m.id },
          handle: async ({ message, tx }) => void (await library.write(tx, message.id)),
          ...contract,
        })
        const running = await runConsumer(consumer, { databaseUrl: url, store: opened.store })
        return {
          drain: () => running.drain(),
          async [Symbol.asyncDispose]() {
            await running.drain()
            await opened.close()
          },
        }
      }
    })

    test('a store on another database is refused at start', async () => {
      await using database = await openEffects()
      await using other = new AsyncDisposableStack()
      const elsewhere = await createDatabase()
      other.defer(() => elsewhere.drop())
      const opened = library.open(elsewhere.url)
      other.defer(async () => void (await opened.close()))
      const consumer = defineConsumer<Job, unknown>({
        name: 'apart',
        owner: 'tests',
        risk: 'money',
        source: postgresQueue('apart.q'),
        identity: { id: m => m.id },
        handle() {},
      })
      await assert.rejects(runConsumer(consumer, { databaseUrl: database.url, store: opened.store }), {
        code: 'configuration',
        message: /works on database "test_.*names "test_.*Use the same database for both/,
      })
    })
  })
}
