import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createTestEnvironment } from 'onceward/testing'
import type { FirstSeen } from '../../src/drivers/postgres/gauges/first-seen.ts'
import type { Received } from '../../src/message/received.ts'
import { UnfinishedWatch } from '../../src/runtime/unfinished-watch.ts'

/** A watch on messages in memory, with a record of what it asks of the database. */
function open(known: Readonly<Record<string, number>> = {}) {
  const env = createTestEnvironment()
  const calls: string[] = []
  const messages = new Map<string, object>()
  let running = true
  let away = false
  const said = async (call: string) => {
    if (away) throw new Error('the database is away')
    calls.push(call)
  }
  const firstSeen: FirstSeen = {
    clear: () => said('clear'),
    async recall(ids) {
      await said(`recall ${ids.length > 3 ? ids.length : ids}`)
      return new Map(ids.flatMap(id => (known[id] === undefined ? [] : [[id, known[id]]])))
    },
    keep: some => said(`keep ${some.length > 3 ? some.length : some.map(({ id }) => id)}`),
    forget: ids => said(`forget ${ids.length > 3 ? ids.length : ids}`),
  }
  const watch = new UnfinishedWatch({
    env,
    now: () => 0,
    unfinished: () =>
      [...messages].map(([id, facts]) => ({ id, delivery: { properties: {}, ...facts } })) as Received[],
    firstSeen,
    running: () => running,
  })
  return {
    env,
    watch,
    messages,
    calls,
    drain: () => {
      running = false
    },
    lose: (is: boolean) => {
      away = is
    },
    async advance(ms: number) {
      for (let passed = 0; passed < ms; passed += 1_000) {
        await env.advance(1_000)
        await env.turn()
      }
    },
  }
}

describe('first-seen times', () => {
  test('of messages younger than five seconds are not written, and older ones are until they end', async () => {
    const { watch, messages, calls, advance } = open()
    messages.set('a', {})
    await advance(4_000)
    assert.deepEqual(calls, [])
    await advance(4_000)
    assert.deepEqual(calls, ['clear', 'recall a', 'keep a'])
    messages.clear()
    await advance(2_000)
    assert.deepEqual(calls.slice(3), ['forget a'])
    await watch.stop()
  })

  test('of messages that a draining process gives back are not forgotten', async () => {
    const { watch, messages, calls, advance, drain } = open()
    messages.set('a', {})
    await advance(8_000)
    drain()
    messages.clear()
    await advance(3_000)
    assert.deepEqual(calls, ['clear', 'recall a', 'keep a'])
    await watch.stop()
  })

  test('are looked up at once for a message that was delivered before', async () => {
    const { watch, messages, advance } = open({ again: 3_600_000 })
    messages.set('again', { redelivered: true })
    await advance(2_000)
    assert.ok(watch.oldestMs()! >= 3_600_000)
    await watch.stop()
  })

  test('are those of the hundred oldest, and none of stored or timed messages', async () => {
    const { watch, messages, calls, advance } = open()
    messages.set('stored', { held: {} })
    messages.set('timed', { properties: { timestampMs: 0 } })
    for (let n = 0; n < 150; n++) messages.set(`m${n}`, {})
    await advance(12_000)
    assert.deepEqual(calls, ['clear', 'recall 100', 'keep 100', 'recall 50'])
    await watch.stop()
  })

  test('count from this process while the database is unavailable', async () => {
    const { watch, messages, calls, advance, lose } = open({ a: 60_000 })
    lose(true)
    messages.set('a', {})
    await advance(8_000)
    assert.ok(watch.oldestMs()! >= 7_000 && watch.oldestMs()! < 60_000)
    lose(false)
    await advance(2_000)
    assert.ok(watch.oldestMs()! >= 60_000)
    assert.deepEqual(calls, ['clear', 'recall a'])
    await watch.stop()
  })
})
