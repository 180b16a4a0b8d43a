import assert from 'node:assert/strict'
import { join } from 'node:path'
import { it } from 'node:test'
import { type VerifyOptions, verifyConsumer } from 'onceward/testing'
import { postgresUrl } from '../../services/services.ts'

/** A correct consumer that is easily accused. */
export interface Scene {
  /** What a careless verification would hold against it. */
  readonly unusual: string
  readonly tables: string
  readonly samples: readonly unknown[]
  readonly more?: Partial<VerifyOptions>
}

/** As many faults as fit, of every class. */
export function soundConsumersSurvive(names: readonly string[]): void {
  for (const name of names)
    it(`${name} survives every class of faults`, async () => {
      const file = join(import.meta.dirname, `${name}.ts`)
      const { scene } = (await import(file)) as { scene: Scene }
      const report = await verifyConsumer({
        file,
        databaseUrl: await postgresUrl(),
        prepare: async pool => void (await pool.query(scene.tables)),
        samples: scene.samples,
        // Every class gets its first fault before any gets its second.
        budgetMs: 130_000,
        shrink: false,
        ...scene.more,
      })
      assert.deepEqual(report.failures, [])
      assert.equal(report.survived, report.of)
    })
}
