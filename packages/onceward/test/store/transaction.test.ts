import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createPool, createPostgresStore, migrate } from 'onceward/postgres'
import { createDatabase, skipWithout } from '../services/services.ts'

describe('a transaction', await skipWithout('postgres'), () => {
  test('begins also with the longest time a contract may give a handler', async t => {
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 1 })
    t.after(async () => {
      await pool.end()
      await database.drop()
    })
    await migrate(pool)
    const store = createPostgresStore({ pool })
    const enrolment = await store.enroll({
      name: 'patient',
      generation: 1,
      owner: 'tests',
      risk: 'low value',
      mode: 'live',
      handlerVersion: '1',
      instance: 'test',
      handlerTimeoutMs: 2 ** 31 - 1,
      dedup: 'marker',
      deadLetterTo: null,
    })
    const claim = { id: 'a', digest: Buffer.alloc(33), position: null }
    const answers = await store.transaction(enrolment, session => session.claim([claim]))
    assert.deepEqual(answers, [{ kind: 'first' }])
  })
})
