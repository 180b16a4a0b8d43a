import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { defineConsumer, runConsumer } from 'onceward'
import { postgresQueue } from 'onceward/postgres'

const consumer = defineConsumer({
  name: 'orders',
  owner: 'shop',
  risk: 'money',
  source: postgresQueue('orders'),
  identity: { id: { header: 'id' } },
  async handle() {},
})

describe('modes that only a campaign supports', () => {
  for (const mode of ['forensic', 'repair', 'backfill'] as const)
    test(`${mode} is refused before anything is opened`, () =>
      assert.rejects(runConsumer(consumer, { databaseUrl: 'postgres://localhost:1/x', mode }), {
        code: 'usage',
        message: new RegExp(`orders cannot run in mode '${mode}'.*Nothing was started.*onceward replay`),
      }))
})

test('isolation without a supervisor is refused, and accepted where it is declared', async () => {
  const isolated = {
    ...consumer,
    isolation: { mode: 'child' as const, deadlineMs: 1_000, memoryMaxMb: null },
  }
  const databaseUrl = 'postgres://localhost:1/x'
  await assert.rejects(runConsumer(isolated, { databaseUrl }), {
    code: 'configuration',
    message: /orders asks for isolation.*Nothing was started.*onceward run.*isolated: true/,
  })
  await assert.rejects(runConsumer(isolated, { databaseUrl, isolated: true, startTimeoutMs: 1 }), {
    code: 'database_unreachable',
  })
})
