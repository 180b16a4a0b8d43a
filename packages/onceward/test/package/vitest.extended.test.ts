import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { createDatabase, skipWithout } from '../services/services.ts'
import { build, emptyProject, install, pack, run } from './pack.ts'

const consumer = `import { defineConsumer } from 'onceward'
import { postgresQueue } from 'onceward/postgres'

export default defineConsumer({
  name: 'payments',
  owner: 'payments',
  risk: 'money',
  source: postgresQueue('payments'),
  identity: { id: m => m.id },
  async handle({ message, tx }) {
    await tx.query('insert into booking values ($1)', [message.id])
  },
})
`

const tested = `import { join } from 'node:path'
import { assertVerified, verifyConsumer } from 'onceward/testing'
import { expect, test } from 'vitest'

test('the consumer survives', async () => {
  const report = await verifyConsumer({
    file: join(import.meta.dirname, 'consumer.mjs'),
    databaseUrl: process.env.SERVER_URL,
    samples: [{ id: 'a' }, { id: 'b' }],
    prepare: async pool => void (await pool.query('create table booking (id text primary key)')),
    only: ['statement', 'commit', 'late'],
    budgetMs: 200_000,
  })
  assertVerified(report)
  expect(report.classes.filter(({ of }) => of > 0).map(one => one.class)).toEqual(['leak', 'statement', 'commit', 'late'])
}, 240_000)
`

describe('the published package under Vitest', await skipWithout('postgres'), () => {
  test('verifies a consumer', { timeout: 500_000 }, async t => {
    await using cleanup = new AsyncDisposableStack()
    await build()
    const packed = await pack('onceward')
    cleanup.defer(() => packed.remove())
    const folder = await emptyProject(packed.tarball)
    cleanup.defer(() => rmSync(folder, { recursive: true, force: true }))
    try {
      await install(folder, ['vitest@5.1.0'])
    } catch (error) {
      return t.skip(`the registry has no Vitest: ${String(error).slice(0, 200)}`)
    }
    writeFileSync(join(folder, 'consumer.mjs'), consumer)
    writeFileSync(join(folder, 'consumer.test.mjs'), tested)
    const database = await createDatabase()
    cleanup.defer(() => database.drop())
    const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, ...outside } = process.env
    const { stdout } = await run(process.execPath, ['node_modules/vitest/vitest.mjs', 'run'], {
      cwd: folder,
      env: { ...outside, SERVER_URL: database.url },
    }).catch(error => assert.fail(`${error.stdout}\n${error.stderr}`))
    assert.match(stdout, /1 passed/)
  })
})
