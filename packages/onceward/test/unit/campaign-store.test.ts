import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '../../src/ports/store.ts'
import { campaignStore } from '../../src/replay/campaign/campaign-store.ts'

test('a campaign neither suspects messages nor clears those the live consumer suspects', () => {
  const store = {
    sql: { query() {} },
    ping: () => {},
    suspects: { beat() {}, clear() {}, beginAttempt() {} },
  }
  const own = campaignStore({
    store: store as unknown as Store<unknown>,
    campaign: { id: '1', mode: 'replay', selection: { of: 'log', start: 'first', end: 'next' } },
    reach: () => {},
  })
  assert.equal(own.suspects, undefined)
  assert.equal(own.ping, store.ping)
})
