import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readId } from '../../src/message/identity.ts'
import { matchDeliveryKey } from '../../src/message/match-delivery-key.ts'
import { deliveryOf, receivedOf, unreadableOf } from './received.ts'

const withKeys = (orderKey: string, key: string | null) =>
  matchDeliveryKey({ ...receivedOf('a', orderKey), delivery: deliveryOf('x', { key }) })

test('a message passes when its order key is the key of its delivery, long ones by their hash', () => {
  assert.ok(withKeys('k', 'k').readable)
  const long = 'k'.repeat(300)
  assert.ok(withKeys((readId(long) as { id: string }).id, long).readable)
  assert.equal(matchDeliveryKey(unreadableOf('x')).readable, false)
})

test('otherwise the problem names the keys that differ', () => {
  for (const [key, text] of [
    ['other', /order key is "k", but the message was published with key "other"/],
    [null, /without a key/],
    ['K', /with key "K"/],
    [' k', /with key " k"/],
  ] as const) {
    const received = withKeys('k', key)
    assert.ok(!received.readable)
    assert.equal(received.problem.kind, 'order key malformed')
    assert.match(received.problem.text, text)
  }
})
