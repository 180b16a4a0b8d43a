import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import {
  createRabbitPublisher,
  ensureDeadLetterQueue,
  type PublishResult,
  type RabbitPublisherOptions,
} from '../../src/drivers/rabbitmq/index.ts'
import { OncewardError } from '../../src/errors.ts'
import { startProxyFor } from '../proxy/tcp-proxy.ts'
import { skipWithout } from '../services/services.ts'
import { createTestQueue, openQueue, randomName } from './broker.ts'

function open(t: TestContext, options: RabbitPublisherOptions) {
  const publisher = createRabbitPublisher(options)
  t.after(() => publisher.close())
  return publisher
}

const body = Buffer.from('x')
const codes = (results: readonly PublishResult[]) =>
  results.map(result => (result instanceof OncewardError ? result.code : result))

describe('rabbitmq publisher', await skipWithout('rabbitmq'), () => {
  it('confirms, and the copy carries id, headers, properties and the exact bytes', async t => {
    const queue = await createTestQueue(t)
    const { take } = await openQueue(t, queue.name, { url: queue.url })
    const publisher = open(t, { url: queue.url })
    const message = {
      queue: queue.name,
      messageId: 'm-1',
      headers: { reason: 'poison', attempts: 5 },
      properties: { type: 'paid', timestampMs: 1_700_000_000_000 },
      body: Buffer.from([0, 255, 10]),
    }
    assert.deepEqual(await publisher.publish([message]), ['confirmed'])
    const [delivery] = await take(1)
    assert.deepEqual(delivery!.body, message.body)
    assert.deepEqual({ ...delivery!.headers }, message.headers)
    assert.deepEqual({ ...delivery!.properties }, { ...message.properties, messageId: 'm-1' })
  })

  it('distinguishes an unroutable message from confirmed ones, also under one message id', async t => {
    const queue = await createTestQueue(t)
    await ensureDeadLetterQueue(queue.url, queue.name)
    const nowhere = randomName()
    const publisher = open(t, { url: queue.url })
    const results = await publisher.publish([
      { queue: queue.name, messageId: 'm-1', body },
      { queue: nowhere, messageId: 'm-1', body },
      { queue: nowhere, messageId: 'm-1', body },
      { exchange: 'amq.topic', routingKey: nowhere, messageId: 'm-2', body },
      { queue: queue.name, messageId: 'm-1', body },
    ])
    assert.deepEqual(codes(results), [
      'confirmed',
      'publish_unroutable',
      'publish_unroutable',
      'publish_unroutable',
      'confirmed',
    ])
    assert.equal(await queue.ready(), 2)
  })

  it('a missing exchange fails only its own messages; the publisher continues', async t => {
    const queue = await createTestQueue(t)
    await ensureDeadLetterQueue(queue.url, queue.name)
    const publisher = open(t, { url: queue.url })
    const gone = randomName()
    const [bad] = await publisher.publish([{ exchange: gone, routingKey: 'k', messageId: 'm-1', body }])
    assert.equal((bad as OncewardError).code, 'publish_unroutable')
    assert.deepEqual(await publisher.publish([{ queue: queue.name, messageId: 'm-2', body }]), ['confirmed'])
  })

  it('refuses what AMQP cannot carry, and tables of headers arrive as they are', async t => {
    const queue = await createTestQueue(t)
    const { take } = await openQueue(t, queue.name, { url: queue.url })
    const publisher = open(t, { url: queue.url })
    const tables = [
      { '!': 'bogus', value: 1 },
      { '!': 'timestamp', value: 'soon' },
      { '!': 7 },
      { a: [{ '!': 'int' }] },
    ]
    const known = { sent: { '!': 'timestamp', value: 1_700_000_000 } }
    const send = (messageId: string, headers: Record<string, unknown>) => ({
      queue: queue.name,
      messageId,
      headers,
      body,
    })
    const results = await publisher.publish([
      ...tables.map((table, n) => send(`t-${n}`, { table })),
      send('known', known),
      send('name', { ['n'.repeat(256)]: 1 }),
      send('long', { text: 'x'.repeat(200_000) }),
      send('last', {}),
    ])
    assert.deepEqual(codes(results), [
      ...tables.map(() => 'confirmed'),
      'confirmed',
      'publish_refused',
      'publish_refused',
      'confirmed',
    ])
    const got = await take(6)
    assert.deepEqual(
      got.map(({ headers }) => structuredClone(headers)),
      [...tables.map(table => ({ table })), known, {}],
    )
  })

  it('a queue that refuses is not a confirm', async t => {
    const queue = await createTestQueue(t)
    const full = { 'x-queue-type': 'quorum', 'x-max-length': 0, 'x-overflow': 'reject-publish' }
    await queue.channel.assertQueue(queue.name, { durable: true, arguments: full })
    const publisher = open(t, { url: queue.url })
    const messages = Array.from({ length: 50 }, (_, i) => ({ queue: queue.name, messageId: `${i}`, body }))
    await publisher.publish(messages)
    const results = await publisher.publish(messages)
    assert.ok(codes(results).includes('publish_unconfirmed'))
  })

  it('waits a bounded time for a missing confirm, and reconnects', async t => {
    const queue = await createTestQueue(t)
    await ensureDeadLetterQueue(queue.url, queue.name)
    const proxy = await startProxyFor(queue.url)
    t.after(() => proxy.close())
    const publisher = open(t, { url: proxy.through(queue.url), confirmTimeoutMs: 5_000 })
    assert.deepEqual(await publisher.publish([{ queue: queue.name, messageId: 'm-1', body }]), ['confirmed'])
    proxy.toClient(() => null)
    const lost = await publisher.publish([{ queue: queue.name, messageId: 'm-2', body }])
    assert.deepEqual(codes(lost), ['publish_unconfirmed'])
    proxy.toClient(null)
    assert.deepEqual(await publisher.publish([{ queue: queue.name, messageId: 'm-2', body }]), ['confirmed'])
  })

  it('reconnects after a cut, and reports an unreachable broker', async t => {
    const queue = await createTestQueue(t)
    await ensureDeadLetterQueue(queue.url, queue.name)
    const proxy = await startProxyFor(queue.url)
    t.after(() => proxy.close())
    const publisher = open(t, { url: proxy.through(queue.url), confirmTimeoutMs: 5_000 })
    const one = (messageId: string) => publisher.publish([{ queue: queue.name, messageId, body }])
    assert.deepEqual(await one('m-1'), ['confirmed'])
    proxy.refuse()
    proxy.cut()
    const codesSeen = [...codes(await one('m-2')), ...codes(await one('m-2'))]
    assert.ok(
      codesSeen.every(code => code === 'publish_unconfirmed' || code === 'broker_unreachable'),
      `${codesSeen}`,
    )
    assert.equal(codesSeen[1], 'broker_unreachable')
    proxy.accept()
    assert.deepEqual(await one('m-2'), ['confirmed'])
  })

  it('sends more than the socket takes at once without losing order', async t => {
    const queue = await createTestQueue(t)
    const { subscription } = await openQueue(
      t,
      queue.name,
      { url: queue.url, singleActiveConsumer: true },
      { inFlightMax: 5_000 },
    )
    const publisher = open(t, { url: queue.url })
    const messages = Array.from({ length: 3_000 }, (_, i) => ({
      queue: queue.name,
      messageId: `${i}`,
      body: Buffer.alloc(3_000),
    }))
    const results = await publisher.publish(messages)
    assert.ok(results.every(result => result === 'confirmed'))
    const ids: (string | undefined)[] = []
    while (ids.length < messages.length) {
      const deliveries = await subscription.receive(100)
      ids.push(...deliveries.map(({ properties }) => properties.messageId))
      await subscription.settle(deliveries)
    }
    assert.deepEqual(
      ids,
      messages.map(({ messageId }) => messageId),
    )
  })

  it('a closed publisher publishes nothing', async t => {
    const { url } = await createTestQueue(t)
    const publisher = open(t, { url })
    await publisher.close()
    assert.deepEqual(codes(await publisher.publish([{ queue: 'q', messageId: 'm', body }])), [
      'broker_unreachable',
    ])
  })
})
