import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createPool, migrate } from 'onceward/postgres'
import { createDatabase, skipWithout } from '../services/services.ts'
import { drizzlePipelined, knexLibrary, type Library } from './libraries.ts'

const facts = {
  name: 'prepared',
  generation: 1,
  owner: 'tests',
  risk: 'low value',
  mode: 'live',
  handlerVersion: '1',
  instance: 'test',
  handlerTimeoutMs: 30_000,
  deliveriesMax: 100,
  dedup: 'checkpoint' as const,
  deadLetterTo: null,
}

const count = 'select count(*)::int as n from pg_prepared_statements'

/** Knex answers with the result of `pg`, Drizzle as well. */
const countOf = (answer: unknown) => (answer as { rows: { n: number }[] }).rows[0]!.n

describe('what a query builder repeats in a transaction', await skipWithout('postgres'), () => {
  for (const library of [knexLibrary, drizzlePipelined] as unknown as Library<unknown>[])
    test(`is prepared with ${library.name}, and its name ends with the transaction`, async () => {
      const database = await createDatabase()
      const pool = createPool(database.url, { max: 1 })
      await migrate(pool)
      await pool.query('create table effect (seq bigint generated always as identity, key text not null)')
      const { store, close } = library.open(database.url)
      const enrolment = await store.enroll(facts)
      const inTransaction = (work: (tx: unknown) => Promise<unknown>) =>
        store.transaction(enrolment, async session => {
          const handlerTx = session.handlerTransaction(true)
          await work(handlerTx.tx)
        })
      const found: number[] = []
      for (let round = 0; round < 2; round++)
        await inTransaction(async tx => {
          found.push(countOf(await library.send(tx, `${count} -- before, ${round}`)))
          for (let n = 0; n < 5; n++) await library.write(tx, `${n}`)
          found.push(countOf(await library.send(tx, `${count} -- after, ${round}`)))
        })
      assert.deepEqual(found, [0, 1, 0, 1])
      assert.equal((await pool.query('select from effect')).rowCount, 10)
      await Promise.all([close(), pool.end()])
      await database.drop()
    })
})
