import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { connect } from 'amqplib'
import { withDefaults } from '../../src/contract/options/defaults.ts'
import type { RabbitToken } from '../../src/drivers/rabbitmq/to-delivery.ts'
import { overLimit } from '../../src/message/limits.ts'
import { createTestEnvironment } from '../../src/testing/test-environment.ts'
import { startProxyFor, type TcpProxy } from '../proxy/tcp-proxy.ts'
import { skipWithout } from '../services/services.ts'
import { createTestQueue, openQueue, type TestQueue, text, until } from './broker.ts'

const defaultLimits = withDefaults('message.limits', {})

/** Counts basic.consume (60.20) and basic.cancel (60.30) on their way to the broker. */
function countMethods(proxy: TcpProxy): { consume: number; cancel: number } {
  const sent = { consume: 0, cancel: 0 }
  proxy.toServer(bytes => {
    if (bytes.includes(Buffer.from([0, 60, 0, 20]))) sent.consume++
    if (bytes.includes(Buffer.from([0, 60, 0, 30]))) sent.cancel++
    return bytes
  })
  return sent
}

/** As no client would write it: tables in tables, six bytes each. */
async function publishDeep(queue: TestQueue, levels: number): Promise<void> {
  const table = Buffer.alloc(4 + 6 * levels)
  for (let level = 0; level <= levels; level++) {
    table.writeUInt32BE(6 * (levels - level), 6 * level)
    if (level < levels) table.write('F', 6 * level + 5)
  }
  const proxy = await startProxyFor(queue.url)
  const marker = Buffer.from('\0\0\0\x05\x03abcV', 'latin1')
  proxy.toServer(bytes => {
    const at = bytes.indexOf(marker)
    if (at < 0) return bytes
    const frame = bytes.lastIndexOf(Buffer.from([0, 60, 0, 0]), at) - 7
    bytes.writeUInt32BE(bytes.readUInt32BE(frame + 3) + table.length - marker.length, frame + 3)
    return Buffer.concat([bytes.subarray(0, at), table, bytes.subarray(at + marker.length)])
  })
  const model = await connect(proxy.through(queue.url))
  const channel = await model.createConfirmChannel()
  const properties = { contentType: 'text/plain', messageId: 'm-deep', headers: { abc: null } }
  channel.sendToQueue(queue.name, Buffer.from('deep'), properties)
  await channel.waitForConfirms()
  await model.close()
  await proxy.close()
}

describe('rabbitmq source', await skipWithout('rabbitmq'), () => {
  it('counts deliveries as valid integers, for any header of the publisher', async t => {
    for (const type of ['quorum', 'classic'] as const) {
      const queue = await createTestQueue(t)
      const { take } = await openQueue(t, queue.name, { url: queue.url, type })
      for (const count of [0.5, 5_000_000_000]) {
        const headers = { 'x-delivery-count': count, 'x-acquired-count': count }
        queue.channel.sendToQueue(queue.name, Buffer.from('{'), { headers })
      }
      const counts = (await take(2)).map(({ deliveryCount }) => deliveryCount)
      assert.ok(
        counts.every(count => Number.isInteger(count) && count < 2 ** 31),
        `${type}: ${counts}`,
      )
    }
  })

  it('delivers a message whose headers cannot be parsed, and those behind it', async t => {
    const queue = await createTestQueue(t)
    const { subscription, take, events } = await openQueue(t, queue.name, { url: queue.url })
    await publishDeep(queue, 10_000)
    await queue.send('behind it')
    const [deep, behind] = await take(2)
    assert.equal(deep!.body.toString(), 'deep')
    assert.deepEqual({ ...deep!.properties }, { contentType: 'text/plain', messageId: 'm-deep' })
    assert.match(overLimit(deep!, defaultLimits)!, /nested/)
    assert.equal(behind!.body.toString(), 'behind it')
    assert.deepEqual(await subscription.settle([deep!, behind!]), { missed: 0 })
    assert.deepEqual(
      events.map(({ kind }) => kind),
      ['connected'],
    )
  })

  it("delivers the exact bytes with the broker's facts, and removes settled messages", async t => {
    const queue = await createTestQueue(t)
    const { subscription, take } = await openQueue(t, queue.name, { url: queue.url })
    const body = Buffer.from('{"id": 9007199254740993}\xff', 'latin1')
    const options = {
      messageId: 'm-1',
      type: 'paid',
      headers: { tenant: 7 },
      timestamp: 1_700_000_000,
      contentType: 'application/json',
    }
    queue.channel.sendToQueue(queue.name, body, options)
    const [delivery] = await take(1)
    assert.deepEqual(delivery!.body, body)
    assert.deepEqual({ ...delivery!.headers }, { tenant: 7 })
    assert.deepEqual(
      { ...delivery!.properties },
      {
        messageId: 'm-1',
        type: 'paid',
        contentType: 'application/json',
        timestampMs: 1_700_000_000_000,
      },
    )
    const { origin, position, partition, key, redelivered, deliveryCount } = delivery!
    assert.deepEqual(
      { origin, position, partition, key, redelivered, deliveryCount },
      {
        origin: queue.name,
        position: null,
        partition: '',
        key: queue.name,
        redelivered: false,
        deliveryCount: 0,
      },
    )
    assert.deepEqual(await subscription.settle([delivery!]), { missed: 0 })
    await subscription.close()
    assert.equal(await queue.ready(), 0)
  })

  it('returns at once what has arrived, at most the requested number', async t => {
    const queue = await createTestQueue(t)
    const proxy = await startProxyFor(queue.url)
    t.after(() => proxy.close())
    const { subscription, take } = await openQueue(t, queue.name, { url: proxy.through(queue.url) })
    let delivered = 0
    proxy.toClient(bytes => {
      // Every basic.deliver (60.60) begins so.
      delivered += bytes.toString('latin1').split('\0\x3c\0\x3c').length - 1
      return bytes
    })
    await queue.send('a', 'b', 'c', 'd')
    const first = await take(1)
    await until(
      () => delivered,
      count => count === 4,
    )
    await createTestEnvironment().turn()
    assert.deepEqual(text(await subscription.receive(2)), ['b', 'c'])
    assert.deepEqual(text(await subscription.receive(2)), ['d'])
    assert.equal(subscription.isLive(first[0]!), true)
  })

  it('settles in any order, and close returns the rest', async t => {
    const queue = await createTestQueue(t)
    const one = await openQueue(t, queue.name, { url: queue.url })
    await queue.send(...'abcdefghij')
    const taken = await one.take(10)
    const unsettled = new Set(['a', 'e', 'j'])
    const settled = taken.filter(({ body }) => !unsettled.has(body.toString())).reverse()
    assert.deepEqual(await one.subscription.settle(settled.slice(0, 3)), { missed: 0 })
    assert.deepEqual(await one.subscription.settle(settled.slice(3)), { missed: 0 })
    await one.subscription.close()
    assert.deepEqual(await one.subscription.receive(1), [])
    assert.deepEqual(await one.subscription.settle(taken), { missed: 10 })
    const two = await openQueue(t, queue.name, { url: queue.url })
    const again = await two.take(3)
    assert.deepEqual(text(again).sort(), ['a', 'e', 'j'])
    assert.deepEqual(
      again.map(({ redelivered, deliveryCount }) => [redelivered, deliveryCount]),
      Array(3).fill([true, 1]),
    )
  })

  it('never holds more deliveries than the contract allows', async t => {
    const queue = await createTestQueue(t)
    const { subscription, take } = await openQueue(t, queue.name, { url: queue.url }, { inFlightMax: 7 })
    await queue.send(...Array.from({ length: 30 }, (_, i) => `${i}`))
    const held = await take(7)
    assert.equal(await until(queue.ready, count => count <= 23), 23)
    for (let seen = 7; seen < 30; seen++) {
      await subscription.settle([held.shift()!])
      held.push(...(await take(1)))
      assert.ok((await queue.ready()) >= 30 - seen - 1)
    }
  })

  it('cancels over the byte budget, resumes below half of it, and asks for fewer large messages', async t => {
    const queue = await createTestQueue(t)
    const proxy = await startProxyFor(queue.url)
    t.after(() => proxy.close())
    const sent = countMethods(proxy)
    const size = 640 * 1024
    const limits = { inFlightMax: 100, inFlightBytesMax: 2 * size }
    const { subscription, take } = await openQueue(t, queue.name, { url: proxy.through(queue.url) }, limits)
    await queue.send(...Array.from({ length: 40 }, () => Buffer.alloc(size)))
    // The third is over the budget; how many the broker has sent until it hears of it is its own affair, up
    // to the first prefetch.
    const held = await take(3)
    await until(
      () => sent.cancel,
      count => count === 1,
    )
    assert.equal(sent.consume, 1)
    assert.ok((await queue.ready()) >= 35, `${await queue.ready()} are left`)
    await subscription.settle(held.splice(0))
    for (let settled = 3; settled < 40; settled++) {
      const unsettled = 40 - settled - (await queue.ready())
      assert.ok(unsettled <= 5, `${unsettled} held after ${settled}`)
      if (held.length === 0) held.push(...(await take(1)))
      await subscription.settle(held.splice(0, 1))
    }
    assert.ok(sent.consume >= 2)
  })

  it('raises the prefetch when bodies are small, without exceeding the count', async t => {
    const queue = await createTestQueue(t)
    const limits = { inFlightMax: 1_500, inFlightBytesMax: 64 * 1024 * 1024 }
    const { subscription, take } = await openQueue(t, queue.name, { url: queue.url }, limits)
    const total = 6_000
    await queue.send(...Array.from({ length: total }, (_, i) => `${i}`))
    for (let seen = 0; seen < 3_000; seen += 200) await subscription.settle(await take(200))
    const held = await take(1_200)
    assert.equal(held.length, 1_200)
    assert.ok((await queue.ready()) >= total - 3_000 - 1_500)
  })

  it('never consumes again with a single active consumer: small bodies come in order', async t => {
    const queue = await createTestQueue(t)
    const proxy = await startProxyFor(queue.url)
    t.after(() => proxy.close())
    const sent = countMethods(proxy)
    const total = 6_000
    const limits = { inFlightMax: 1_500, inFlightBytesMax: 64 * 1024 * 1024 }
    const options = { url: proxy.through(queue.url), singleActiveConsumer: true }
    const { subscription } = await openQueue(t, queue.name, options, limits)
    const bodies = Array.from({ length: total }, (_, i) => `${i}`)
    await queue.send(...bodies)
    const seen: string[] = []
    while (seen.length < total) {
      const deliveries = await subscription.receive(200)
      seen.push(...text(deliveries))
      await subscription.settle(deliveries)
    }
    assert.deepEqual(seen, bodies)
    assert.deepEqual([sent.consume, sent.cancel], [1, 0])
  })

  it('reconnects after a cut, redelivers unsettled messages and never acks a stale tag', async t => {
    const queue = await createTestQueue(t)
    const proxy = await startProxyFor(queue.url)
    t.after(() => proxy.close())
    const options = { url: proxy.through(queue.url) }
    const { subscription, take, event, events } = await openQueue(t, queue.name, options, { inFlightMax: 3 })
    await queue.send('a', 'b', 'c', 'd')
    const before = await take(3)
    await subscription.settle(before.slice(0, 1))
    // With room for three, `d` comes only once the broker has taken the ack of `a`.
    assert.deepEqual(text(await take(1)), ['d'])
    proxy.cut()
    await event('disconnected')
    assert.equal(subscription.isLive(before[1]!), false)
    await event('connected', 2)
    const after = await take(3)
    assert.deepEqual(text(after).sort(), ['b', 'c', 'd'])
    assert.ok(after.every(({ redelivered, deliveryCount }) => redelivered && deliveryCount === 1))
    assert.deepEqual(await subscription.settle(before.slice(1)), { missed: 2 })
    assert.deepEqual(await subscription.settle(after), { missed: 0 })
    await queue.send('e')
    assert.deepEqual(text(await take(1)), ['e'])
    assert.equal(events.filter(({ kind }) => kind === 'disconnected').length, 1)
  })

  it('drops buffered deliveries when the connection is lost: they are redelivered once', async t => {
    const queue = await createTestQueue(t)
    const proxy = await startProxyFor(queue.url)
    t.after(() => proxy.close())
    const { subscription, take, event } = await openQueue(t, queue.name, { url: proxy.through(queue.url) })
    await queue.send('a', 'b', 'c')
    await take(1)
    proxy.cut()
    await event('connected', 2)
    const again = await take(3)
    assert.deepEqual(text(again).sort(), ['a', 'b', 'c'])
    assert.ok(again.every(({ token }) => (token as RabbitToken).epoch === 2))
    assert.deepEqual(await subscription.settle(again), { missed: 0 })
  })

  it('keeps trying while the broker is unavailable, and open resolves when it is available', async t => {
    const queue = await createTestQueue(t)
    const proxy = await startProxyFor(queue.url)
    t.after(() => proxy.close())
    proxy.refuse()
    let failures = 0
    const opened = openQueue(
      t,
      queue.name,
      { url: proxy.through(queue.url) },
      {
        onEvent: ({ kind }) => {
          if (kind === 'disconnected' && ++failures === 2) proxy.accept()
        },
      },
    )
    const { take } = await opened
    assert.ok(failures >= 2)
    await queue.send('a')
    assert.deepEqual(text(await take(1)), ['a'])
  })

  it('detects a silently lost connection by its heartbeats', async t => {
    const queue = await createTestQueue(t)
    const proxy = await startProxyFor(queue.url)
    t.after(() => proxy.close())
    const { take, event } = await openQueue(t, queue.name, { url: `${proxy.through(queue.url)}?heartbeat=1` })
    proxy.pause()
    const { reason } = (await event('disconnected')) as { reason: string }
    // Both ends miss them; the broker, when it is the first to give up, merely closes.
    assert.match(reason, /heartbeat|unexpected close/i)
    proxy.resume()
    await event('connected', 2)
    await queue.send('a')
    assert.deepEqual(text(await take(1)), ['a'])
  })

  it('closes within its bound on a connection that no longer answers', async t => {
    const queue = await createTestQueue(t)
    const proxy = await startProxyFor(queue.url)
    t.after(() => proxy.close())
    const { subscription, take } = await openQueue(t, queue.name, { url: proxy.through(queue.url) })
    await queue.send('a')
    await take(1)
    proxy.pause()
    const began = Date.now()
    await subscription.close()
    assert.ok(Date.now() - began < 20_000, 'it does not wait until heartbeats are missed')
  })

  it('reports a deleted queue, declares it again and continues', async t => {
    const queue = await createTestQueue(t)
    const { take, event } = await openQueue(t, queue.name, { url: queue.url })
    await queue.delete()
    await event('cancelled')
    await event('connected', 2)
    await queue.send('a')
    assert.deepEqual(text(await take(1)), ['a'])
  })

  it('waits for a deleted queue that belongs to others', async t => {
    const queue = await createTestQueue(t)
    const declare = () =>
      queue.channel.assertQueue(queue.name, {
        durable: true,
        arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': -1 },
      })
    await declare()
    const { take, event } = await openQueue(t, queue.name, { url: queue.url, declare: 'verify' })
    await queue.delete()
    await event('cancelled')
    const { reason } = (await event('disconnected')) as { reason: string }
    assert.match(reason, /does not exist/)
    await declare()
    await queue.send('a')
    assert.deepEqual(text(await take(1)), ['a'])
  })

  it('continues when the broker closes its channel', async t => {
    const queue = await createTestQueue(t)
    const proxy = await startProxyFor(queue.url)
    t.after(() => proxy.close())
    const url = proxy.through(queue.url)
    const { subscription, take, event } = await openQueue(t, queue.name, { url })
    await queue.send('a')
    const [delivery] = await take(1)
    proxy.toServer(bytes => {
      const ack = bytes.indexOf(Buffer.from([0, 60, 0, 80]))
      if (ack >= 0) bytes.writeBigUInt64BE(999n, ack + 4)
      return bytes
    })
    await subscription.settle([delivery!])
    const { reason } = (await event('disconnected')) as { reason: string }
    assert.match(reason, /PRECONDITION_FAILED/)
    proxy.toServer(null)
    assert.deepEqual(await subscription.settle([delivery!]), { missed: 1 })
    const again = await take(1)
    assert.deepEqual(await subscription.settle(again), { missed: 0 })
  })
})
