import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type FaultClass, verifyConsumer } from 'onceward/testing'
import { postgresUrl, skipWithout } from '../services/services.ts'
import { exampleOptions, exampleScenes } from './samples.ts'

/** A short form: one fault of each kind that needs another mechanism. */
const only: readonly FaultClass[] = ['statement', 'rollback', 'commit', 'processes', 'late', 'order']

describe('examples under verification, in short', await skipWithout('postgres'), () => {
  for (const name of ['01', '02'] as const) {
    it(`example ${name} survives`, async () => {
      const report = await verifyConsumer({
        ...exampleOptions(exampleScenes[name]!),
        databaseUrl: await postgresUrl(),
        only,
        budgetMs: 20_000,
      })
      assert.deepEqual(report.failures, [])
      const faults = report.classes.filter(one => one.class !== 'leak').reduce((sum, one) => sum + one.of, 0)
      assert.ok(faults >= 1, 'no fault was run')
    })
  }
})
