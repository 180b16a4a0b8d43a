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

describe('modes that only a campaign keeps its word about', () => {
  for (const mode of ['forensic', 'repair', 'backfill'] as const)
    test(`${mode} is refused before anything is opened`, () =>
      assert.rejects(runConsumer(consumer, { databaseUrl: 'postgres://localhost:1/x', mode }), {
        code: 'usage',
        message: new RegExp(`orders cannot run in mode '${mode}'.*Nothing was started.*onceward replay`),
      }))
})
