import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { verifyConsumer } from 'onceward/testing'
import { postgresUrl, skipWithout } from '../services/services.ts'
import { exhibit } from './gallery/needs-three.ts'

describe('a failure under verification', await skipWithout('postgres'), () => {
  it('is shrunk to the three messages of ten that it needs', async () => {
    const { failures } = await verifyConsumer({
      file: join(import.meta.dirname, 'gallery/needs-three.ts'),
      databaseUrl: await postgresUrl(),
      prepare: async pool => void (await pool.query(exhibit.tables)),
      samples: exhibit.samples,
      only: ['order'],
      budgetMs: 600_000,
    })
    assert.deepEqual(
      failures.map(({ lines }) => lines),
      [[2, 5, 9]],
    )
  })
})
