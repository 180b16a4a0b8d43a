import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, describe, test } from 'node:test'

import { promisify } from 'node:util'
import type { InitOrm } from '../../src/cli/init/orm-text.ts'
import { projectFiles } from '../../src/cli/init/project.ts'
import { createEmptyDatabase, skipWithout } from '../services/services.ts'

const home = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'onceward-init-orm-'))
const clients: readonly (readonly [InitOrm, string])[] = [
  ['kysely', 'kysely'],
  ['drizzle', 'drizzle-orm'],
  ['knex', 'knex'],
]

describe('what onceward init writes for a library', await skipWithout('postgres'), () => {
  after(() => rmSync(folder, { recursive: true, force: true }))

  for (const [orm, client] of clients)
    test(`${orm}: its own test runs the consumer and verifies it`, async t => {
      const database = await createEmptyDatabase()
      t.after(() => database.drop())
      const target = writeProject(orm, ['onceward', 'pg', client])
      const { NODE_TEST_CONTEXT: _, ...outside } = process.env
      const { stdout } = await promisify(execFile)(process.execPath, ['--test'], {
        cwd: target,
        env: {
          ...outside,
          NODE_OPTIONS: '--conditions=@onceward/source',
          ONCEWARD_TEST_DATABASE_URL: database.url,
        },
      }).catch(error => assert.fail(error.stdout))
      assert.match(stdout, /pass 2\b/)
    })
})

function writeProject(orm: InitOrm, packages: readonly string[]): string {
  const target = join(folder, orm)
  const answers = { name: 'parcel_labels', owner: 'x', risk: 'money', source: 'postgres', orm } as const
  const files = Object.entries(projectFiles(answers, '0.1.0'))
  for (const [name, text] of files) {
    mkdirSync(dirname(join(target, name)), { recursive: true })
    // Two classes show that the consumer is verified through its own store.
    const short = text.replace('budgetMs: 120_000', "only: ['statement', 'late'], budgetMs: 120_000")
    writeFileSync(join(target, name), short)
  }
  assert.match(files.find(([name]) => name.endsWith('.test.ts'))![1], /assertVerified\(report\)/)
  mkdirSync(join(target, 'node_modules'))
  for (const name of packages)
    symlinkSync(
      name === 'onceward' ? home : join(home, '../../node_modules', name),
      join(target, 'node_modules', name),
    )
  return target
}
