import assert from 'node:assert/strict'
import { mkdirSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { verifyConsumer } from 'onceward/testing'
import { balances, payments } from './gallery/broken.ts'

it('two verifications in one folder have a server each, and both restart it', async t => {
  const before = process.cwd()
  // Always the same folder: its server is made once.
  const here = join(tmpdir(), 'onceward-verify-embedded')
  mkdirSync(here, { recursive: true })
  process.chdir(here)
  t.after(() => process.chdir(before))
  const verify = () =>
    verifyConsumer({
      file: join(import.meta.dirname, 'gallery/delivery-as-identity.ts'),
      prepare: async pool => void (await pool.query(balances)),
      samples: payments,
      only: ['restart', 'twice'],
      shrink: false,
      budgetMs: 600_000,
    })
  for (const report of await Promise.all([verify(), verify()])) {
    assert.deepEqual(
      report.failures.map(({ class: kind }) => kind),
      ['identity'],
    )
    const restart = report.classes.find(one => one.class === 'restart')!
    assert.deepEqual([restart.survived, restart.of, restart.note], [4, 4, ''])
  }
  const left = readdirSync(join(here, '.onceward')).filter(name => name !== 'verify-postgres')
  assert.deepEqual(left, [], 'owner files and own folders')
})
