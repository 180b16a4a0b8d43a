import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { verifyConsumer } from 'onceward/testing'
import { postgresUrl, skipWithout } from '../services/services.ts'
import type { Exhibit } from './gallery/broken.ts'

const folder = join(import.meta.dirname, 'gallery')
const files = globSync('*.ts', { cwd: folder })
  .filter(file => file !== 'broken.ts')
  .sort()

describe('the gallery of broken consumers', { concurrency: 2, ...(await skipWithout('postgres')) }, () => {
  it('has at least sixteen of them', () => assert.ok(files.length >= 16))

  for (const name of files) {
    it(`${name.slice(0, -3)} is caught, with the sentence that says what is wrong`, async () => {
      const file = join(folder, name)
      const { exhibit } = (await import(file)) as { exhibit: Exhibit }
      const report = await verifyConsumer({
        file,
        databaseUrl: await postgresUrl(),
        prepare: async pool => void (exhibit.tables && (await pool.query(exhibit.tables))),
        samples: exhibit.samples,
        only: exhibit.only,
        budgetMs: 600_000,
        shrink: false,
        jobs: 1,
        ...exhibit.more,
      })
      const { says, warns } = exhibit
      const found = says === undefined ? report.warnings : report.failures
      const sentences = found.map(({ what }) => what)
      assert.equal(report.ok, says === undefined)
      assert.ok(
        sentences.some(sentence => (says ?? warns)!.test(sentence)),
        `${says ?? warns} is not among:\n${sentences.join('\n')}`,
      )
    })
  }
})
