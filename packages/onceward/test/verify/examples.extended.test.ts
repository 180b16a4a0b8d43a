import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { verifyConsumer } from 'onceward/testing'
import { postgresUrl, skipWithout } from '../services/services.ts'
import { exampleOptions, exampleScenes } from './samples.ts'

describe('examples under verification', await skipWithout('postgres'), () => {
  for (const [name, scene] of Object.entries(exampleScenes)) {
    it(`example ${name} survives every fault`, async () => {
      const report = await verifyConsumer({
        ...exampleOptions(scene),
        databaseUrl: await postgresUrl(),
        budgetMs: 300_000,
      })
      assert.deepEqual(report.failures, [])
      assert.equal(report.survived, report.of)
      const unfinished = report.classes.filter(({ note }) => note.includes('budget'))
      assert.deepEqual(unfinished, [])
    })
  }
})
