import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createPool, createQueue, migrate, postgresQueue } from 'onceward/postgres'
import { defineConsumer, runConsumer } from '../../src/index.ts'
import { createDatabase, skipWithout } from '../services/services.ts'

describe('a start that fails', await skipWithout('postgres'), () => {
  test('says why although a worker was to be started with it', { timeout: 30_000 }, async t => {
    const database = await createDatabase()
    t.after(() => database.drop())
    const pool = createPool(database.url, { max: 1 })
    await migrate(pool)
    await createQueue(pool, 'failed_start')
    await pool.query('alter table onceward.run rename to elsewhere')
    await pool.end()
    const consumer = defineConsumer<{ id: string }>({
      name: 'failed_start',
      owner: 'tests',
      risk: 'projection',
      source: postgresQueue('failed_start'),
      identity: { id: message => message.id },
      failure: { mode: 'defer' },
      handle: async () => {},
    })
    await assert.rejects(runConsumer(consumer, { databaseUrl: database.url }), /onceward\.run/)
  })
})
