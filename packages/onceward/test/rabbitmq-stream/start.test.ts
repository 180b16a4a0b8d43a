import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { until } from '../../src/testing/until.ts'
import { startProxyFor } from '../proxy/tcp-proxy.ts'
import { rabbitmqStreamUrl, skipWithout } from '../services/services.ts'
import { createTestStream, numbers, openStream, text } from './broker.ts'
import { openWatch, positionOf } from './outside.ts'

describe('the start of a stream', { timeout: 240_000, ...(await skipWithout('rabbitmq')) }, () => {
  test('has no default: the error names the option to set', async t => {
    const { name } = await createTestStream(t)
    const { subscription } = await openStream(t, name, {})
    await assert.rejects(subscription.receive(1), {
      code: 'configuration',
      message: /has never read stream.*start: 'first'.*start: 'next'/s,
    })
  })

  test('is refused where it cannot be read', async t => {
    for (const start of [
      'earliest',
      -1,
      1.5,
      { timestamp: 'yesterday' },
      { timestamp: '05-11-2026' },
      { timestamp: '2026-11-05T08:00:00' },
    ]) {
      await assert.rejects(openStream(t, 'any', { start: start as never }), {
        code: 'configuration',
        message: /invalid start/,
      })
    }
  })

  test('is refused when it is an offset the stream does not have', async t => {
    const { name, send } = await createTestStream(t)
    await send('a')
    const { subscription } = await openStream(t, name, { start: 5_000 })
    await assert.rejects(subscription.receive(1), {
      code: 'configuration',
      message: /begins at 0 and ends before/,
    })
  })

  test("with 'next' is decided once: records published while no consumer runs are not missed", async t => {
    const { name, send } = await createTestStream(t)
    const checkpoints = new MemoryCheckpoints()
    await send('before')
    const one = await openStream(t, name, { start: 'next' }, { log: { checkpoints } })
    await one.event('assigned')
    await one.subscription.close()
    await send('meanwhile')
    const other = await openStream(t, name, { start: 'next' }, { log: { checkpoints } })
    assert.deepEqual(text(await other.take(1)), ['meanwhile'])
  })

  test("with 'next' on an empty stream takes the first record", async t => {
    const { name, send } = await createTestStream(t)
    const { take, event } = await openStream(t, name, { start: 'next' })
    await event('assigned')
    await send('a')
    assert.deepEqual(text(await take(1)), ['a'])
  })

  test("with 'last' takes the newest chunk, and with a time what was written from then on", async t => {
    const { name, send } = await createTestStream(t)
    await send(...numbers(0, 3))
    const began = Date.now()
    await until('the clock has moved on', () => Date.now() > began + 2)
    const middle = Date.now()
    // One by one: several at once may become two chunks.
    await send('3')
    await send('4')
    const last = await openStream(t, name, { start: 'last', group: 'last' })
    assert.deepEqual(text(await last.take(1)), ['4'])
    for (const timestamp of [middle, new Date(middle).toISOString()]) {
      const since = await openStream(t, name, { start: { timestamp }, group: `since ${timestamp}` })
      assert.deepEqual(text(await since.take(2)), ['3', '4'])
    }
    const late = await openStream(t, name, { start: { timestamp: Date.now() + 60_000 }, group: 'late' })
    await late.event('assigned')
    await send('5')
    assert.deepEqual(text(await late.take(1)), ['5'])
  })

  test('is the position of another client of the group, which can continue from ours', async t => {
    const { name, send, url } = await createTestStream(t)
    await send(...numbers(0, 10))
    const watch = await openWatch(url)
    t.after(() => watch.destroy('done'))
    const { storeOffset } = await import('../../src/drivers/rabbitmq-stream/wire/commands.ts')
    // What RabbitMQ's own clients store is the last offset that is done.
    storeOffset(watch, 'shared', name, 3n)
    await until('it is stored', async () => (await positionOf(watch, 'shared', name)) === '4')
    const { take, subscription } = await openStream(t, name, { group: 'shared' })
    const rest = await take(6)
    assert.deepEqual(text(rest), numbers(4, 10))
    await subscription.settle(rest)
    await until('it is told', async () => (await positionOf(watch, 'shared', name)) === '10')
  })

  test("with positions in the store never uses the broker's position", async t => {
    const { name, send } = await createTestStream(t)
    await send(...numbers(0, 4))
    const told = await openStream(t, name, { start: 'first' })
    await told.subscription.settle(await told.take(4))
    await told.subscription.close()
    const log = { progress: 'store' as const, checkpoints: new MemoryCheckpoints() }
    const none = await openStream(t, name, {}, { log })
    await assert.rejects(none.subscription.receive(1), {
      code: 'configuration',
      message: /The broker has a stored offset, 3, .* but the contract keeps positions in the store/,
    })
    await none.subscription.close()
    const fresh = await openStream(t, name, { start: 'first' }, { log })
    assert.deepEqual(text(await fresh.take(4)), numbers(0, 4))
  })

  test('is stored at the broker as a hint when positions are in the store, at the latest when the consumer stops', async t => {
    const { name, send, url } = await createTestStream(t)
    const watch = await openWatch(url)
    t.after(() => watch.destroy('done'))
    await send(...numbers(0, 4))
    const { take, subscription } = await openStream(
      t,
      name,
      { start: 'first' },
      { log: { progress: 'store' } },
    )
    await subscription.settle((await take(4)).slice(0, 3))
    await subscription.close()
    assert.equal(await positionOf(watch, 'tester', name), '3')
  })

  test('continues from 0 when the first record was not finished', async t => {
    const { name, send } = await createTestStream(t)
    const checkpoints = new MemoryCheckpoints()
    await send('a', 'b')
    for (let life = 0; life < 3; life++) {
      const { take, subscription } = await openStream(t, name, { start: 'first' }, { log: { checkpoints } })
      assert.deepEqual(text(await take(2)), ['a', 'b'])
      await subscription.close()
    }
    assert.deepEqual(checkpoints.losses, [])
  })
})

describe('read-ahead of a stream', { timeout: 240_000, ...(await skipWithout('rabbitmq')) }, () => {
  test('is bounded while the consumer does not receive, and continues when it does', async t => {
    const { name, send } = await createTestStream(t)
    const body = 'x'.repeat(50_000)
    for (let batch = 0; batch < 40; batch++) await send(...Array.from({ length: 20 }, () => body))
    const proxy = await startProxyFor((await rabbitmqStreamUrl())!)
    t.after(() => proxy.close())
    const url = proxy.through((await rabbitmqStreamUrl())!)
    const { take, subscription, event } = await openStream(
      t,
      name,
      { url, start: 'first' },
      { inFlightBytesMax: 200_000 },
    )
    await event('assigned')
    const [first] = await take(1)
    let before = -1
    let same = 0
    await until('nothing more arrives', () => {
      same = proxy.bytesFromServer === before ? same + 1 : 0
      before = proxy.bytesFromServer
      return same === 10
    })
    // A megabyte read ahead, and at most eight chunks of one that were on their way.
    assert.ok(before < 9_500_000, `${before} bytes of 40 million came`)
    await subscription.settle([first!])
    for (let taken = 1; taken < 800; ) {
      const some = await subscription.receive(100)
      taken += some.length
      await subscription.settle(some)
    }
  })
})
