import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { StoreWatch } from '../../src/engine/consumer/store-watch.ts'
import type { Store } from '../../src/ports/store.ts'
import { createTestEnvironment } from '../../src/testing/test-environment.ts'

describe('a small call on the store', () => {
  test('that needs an operator becomes an error that no source retries', async () => {
    const store = { diagnose: () => 'configuration' } as unknown as Store<unknown>
    const watch = new StoreWatch(store, createTestEnvironment(), 'payments', () => true)
    const denied = Object.assign(new Error('permission denied for table checkpoint'), { code: '42501' })
    await assert.rejects(
      watch.persist(() => Promise.reject(denied)),
      { code: 'configuration', message: /payments.*42501.*permission denied.*nothing is lost/is },
    )
  })
})
