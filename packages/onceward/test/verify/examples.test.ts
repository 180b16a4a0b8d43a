import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type FaultClass, verifyConsumer } from 'onceward/testing'
import { postgresUrl, skipWithout } from '../services/services.ts'
import { exampleOptions, exampleScenes } from './examples.ts'

/** A short form: one fault of each kind that needs another mechanism. */
const only: readonly FaultClass[] = ['statement', 'rollback', 'commit', 'processes', 'late', 'order']

describe('examples under verification, in short', await skipWithout('postgres'), () => {
  for (const name of ['01', '02'] as const) {
    it(`example ${name} survives`, async () => {
      const report = await verifyConsumer({
        ...exampleOptions(exampleScenes[name]!),
        databaseUrl: await postgresUrl(),
        only,
        lines: [1, 3],
        budgetMs: 600_000,
      })
      assert.deepEqual(report.failures, [])
      assert.equal(report.survived, report.of)
      const ran = report.classes.filter(({ of }) => of > 0).map(one => one.class)
      for (const kind of ['statement', 'commit', 'processes', 'late'])
        assert.ok(ran.includes(kind as never), kind)
    })
  }
})
