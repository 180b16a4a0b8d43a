import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { verifyConsumer } from 'onceward/testing'
import { postgresUrl, skipWithout } from '../services/services.ts'

const folder = join(import.meta.dirname, '../adapters/your-orm')

describe('stores of other libraries under verification', await skipWithout('postgres'), () => {
  for (const library of ['kysely', 'drizzle', 'knex']) {
    it(`a consumer on ${library} survives, and its statements are counted`, async () => {
      const report = await verifyConsumer({
        file: join(folder, `${library}.ts`),
        databaseUrl: await postgresUrl(),
        prepare: async pool =>
          void (await pool.query('create table capture (id text primary key, amount integer not null)')),
        only: ['statement', 'rollback', 'commit', 'restart', 'processes', 'late'],
        samples: [1, 2].map(number => ({ id: `c-${number}`, amount: number })),
        budgetMs: 600_000,
      })
      assert.deepEqual(report.failures, [])
      assert.equal(report.survived, report.of)
      const survived = (kind: string) => report.classes.find(one => one.class === kind)?.survived
      assert.equal(survived('statement'), 2)
      assert.deepEqual([survived('rollback'), survived('commit')], [2, 2])
    })
  }
})
