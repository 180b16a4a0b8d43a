import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { settingsOf, type TopicOptions, topic } from '../../src/drivers/kafka/topic.ts'

const consumer = { name: 'orders', generation: 2 }

describe('a topic as a contract names it', () => {
  test('is plain data, with defaults that lose nothing', () => {
    assert.deepEqual(topic('events'), { kind: 'kafka', topic: 'events' })
    assert.deepEqual(settingsOf(topic('events'), consumer), {
      topic: 'events',
      group: 'orders.2',
      instance: null,
      protocol: 'classic',
      start: null,
      isolation: 'committed',
      sessionTimeoutMs: 10_000,
      rebalanceTimeoutMs: 60_000,
      requestTimeoutMs: 10_000,
      connectTimeoutMs: 5_000,
      heartbeatMs: 1_000,
      addedPartitionsWaitMs: 600_000,
    })
    assert.equal(settingsOf(topic('events', { protocol: 'consumer' }), consumer).sessionTimeoutMs, 45_000)
  })

  const wrong: readonly [string, string, Record<string, unknown>, RegExp][] = [
    ['a name with a slash', 'a/b', {}, /249 letters/],
    ['an unknown option', 'a', { grup: 'x' }, /no option "grup"/],
    ['an unknown start', 'a', { start: 'newest' }, /start is/],
    ['a start without a moment', 'a', { start: {} }, /start is/],
    ['a session of no length', 'a', { sessionTimeoutMs: 0 }, /sessionTimeoutMs/],
    ['an empty group', 'a', { group: '' }, /group is/],
    ['an unknown protocol', 'a', { protocol: 'eager' }, /protocol is/],
    ['an unknown isolation', 'a', { isolation: 'read_committed' }, /isolation is/],
  ]
  for (const [what, name, options, message] of wrong) {
    test(`${what} is refused`, () => {
      assert.throws(() => settingsOf(topic(name, options as TopicOptions), consumer), {
        code: 'configuration',
        message,
      })
    })
  }
})
