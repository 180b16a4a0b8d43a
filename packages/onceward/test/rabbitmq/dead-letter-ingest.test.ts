import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { connect } from 'amqplib'
import { createRabbitSource, queue as named } from '../../src/drivers/rabbitmq/index.ts'
import { OncewardError } from '../../src/errors.ts'
import type { SourceEvent } from '../../src/ports/source.ts'
import { startProxyFor } from '../proxy/tcp-proxy.ts'
import { rabbitmqManagementUrl, skipWithout } from '../services/services.ts'
import { createTestQueue, openQueue, randomName, text, until } from './broker.ts'

/** A queue of somebody else, whose messages die at the second hand-back, and the queue they end up in. */
async function createForeignQueue(t: TestContext, deadArguments = {}) {
  const dead = await createTestQueue(t)
  await dead.channel.assertQueue(dead.name, {
    durable: true,
    arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': -1, ...deadArguments },
  })
  const queue = await createTestQueue(t)
  await queue.channel.assertQueue(queue.name, {
    durable: true,
    arguments: {
      'x-queue-type': 'quorum',
      'x-delivery-limit': 1,
      'x-dead-letter-exchange': '',
      'x-dead-letter-routing-key': dead.name,
      'x-dead-letter-strategy': 'at-least-once',
      'x-overflow': 'reject-publish',
    },
  })
  const options = { url: queue.url, declare: 'verify' as const, deadLetterIngest: dead.name }
  return { queue, dead, options }
}

/** A consumer that takes everything and dies, twice: every message of the queue is dead-lettered. */
async function age({ queue, dead }: Awaited<ReturnType<typeof createForeignQueue>>): Promise<void> {
  const { ready } = queue
  const count = await ready()
  const before = await dead.ready()
  for (let round = 0; round < 2; round++) {
    await until(ready, held => held === count)
    const model = await connect(queue.url)
    const channel = await model.createChannel()
    await channel.consume(queue.name, () => {})
    await until(ready, held => held === 0)
    await channel.close()
    await model.close()
  }
  await until(dead.ready, held => held === before + count)
}

describe('ingesting a dead-letter queue', await skipWithout('rabbitmq'), () => {
  it('delivers messages that the delivery limit removed, as they were published, and settles them there', async t => {
    const foreign = await createForeignQueue(t)
    const { queue, dead, options } = foreign
    await queue.channel.bindQueue(queue.name, 'amq.topic', `${queue.name}.*`)
    queue.channel.publish('amq.topic', `${queue.name}.paid`, Buffer.from('a'), { messageId: 'm-1' })
    await until(queue.ready, count => count === 1)
    await age(foreign)
    const { subscription, take } = await openQueue(t, queue.name, options)
    const [delivery] = await take(1)
    const { body, properties, origin, key, redelivered } = delivery!
    assert.deepEqual(
      { body: body.toString(), id: properties.messageId, origin, key, redelivered },
      { body: 'a', id: 'm-1', origin: dead.name, key: `${queue.name}.paid`, redelivered: true },
    )
    await queue.send('b')
    const [other] = await take(1)
    assert.deepEqual(await subscription.settle([other!, delivery!]), { missed: 0 })
    await subscription.close()
    assert.deepEqual([await queue.ready(), await dead.ready()], [0, 0])
  })

  it('takes one at a time beside the consumer, never more than the contract allows', async t => {
    const foreign = await createForeignQueue(t)
    const { queue, dead, options } = foreign
    await queue.send(...'abcd')
    await age(foreign)
    await queue.send(...'123456')
    const { subscription, take } = await openQueue(t, queue.name, options, { inFlightMax: 3 })
    const held = await take(3)
    assert.equal(text(held).filter(body => 'abcd'.includes(body)).length, 1)
    assert.deepEqual([await queue.ready(), await dead.ready()], [4, 3])
    const seen: string[] = []
    while (seen.length < 10) {
      if (held.length === 0) held.push(...(await subscription.receive(3)))
      assert.ok(text(held).filter(body => 'abcd'.includes(body)).length <= 1)
      const next = held.splice(0, 1)
      seen.push(...text(next))
      await subscription.settle(next)
    }
    assert.equal(seen.sort().join(''), '123456abcd')
  })

  it('leaves messages of other queues, reads past them, and does not fetch them repeatedly', async t => {
    const foreign = await createForeignQueue(t)
    const { queue, dead, options } = foreign
    const death = { count: 1, exchange: '', 'routing-keys': ['x'] }
    const strangers: object[] = [
      {},
      { 'x-death': 'nonsense' },
      { 'x-death': [{ ...death, queue: queue.name, reason: 'rejected' }] },
      { 'x-death': [{ ...death, queue: 'other', reason: 'delivery_limit' }] },
    ]
    for (const headers of strangers) dead.channel.sendToQueue(dead.name, Buffer.from('theirs'), { headers })
    await until(dead.ready, count => count === strangers.length)
    await queue.send('a', 'b')
    await age(foreign)
    const proxy = await startProxyFor(queue.url)
    t.after(() => proxy.close())
    let gets = 0
    proxy.toServer(bytes => {
      if (bytes.includes(Buffer.from([0, 60, 0, 70]))) gets++
      return bytes
    })
    const opened = await openQueue(t, queue.name, { ...options, url: proxy.through(queue.url) })
    for (const expected of ['a', 'b']) {
      const taken = await opened.take(1)
      assert.deepEqual(text(taken), [expected])
      await opened.subscription.settle(taken)
    }
    const told = (event: SourceEvent) =>
      event.kind === 'warning' && /a separate dead-letter queue/.test(event.reason)
    assert.equal(opened.events.filter(told).length, 1)
    await until(dead.ready, count => count === 4)
    const asked = gets
    for (let n = 0; n < 100; n++) {
      await queue.send(`${n}`)
      await opened.subscription.settle(await opened.take(1))
    }
    assert.equal(gets, asked)
    await opened.subscription.close()
    assert.equal(await dead.ready(), 4)
  })

  it('takes messages with any publisher-written death headers, and those behind them', async t => {
    const foreign = await createForeignQueue(t)
    const { queue, dead, options } = foreign
    const odd: unknown[] = [{ toString: 'x', valueOf: 1 }, {}, 'seven', '7', -3, 2.5, [[]], true, null]
    const death = { count: 1, exchange: '', reason: 'delivery_limit', queue: queue.name }
    odd.forEach((count, n) => {
      const headers = {
        'x-delivery-count': count,
        'x-death': [{ ...death, 'routing-keys': n % 2 === 0 ? [7] : 'none' }],
      }
      dead.channel.sendToQueue(dead.name, Buffer.from(`odd ${n}`), { headers })
    })
    dead.channel.sendToQueue(dead.name, Buffer.from('behind'), { headers: { 'x-death': [death] } })
    await until(dead.ready, count => count === odd.length + 1)
    const opened = await openQueue(t, queue.name, options)
    for (const expected of [...odd.map((_, n) => `odd ${n}`), 'behind']) {
      const taken = await opened.take(1)
      assert.deepEqual(text(taken), [expected])
      assert.equal(typeof taken[0]!.key, 'string')
      await opened.subscription.settle(taken)
    }
    assert.deepEqual(
      opened.events.map(({ kind }) => kind).filter(kind => kind !== 'connected' && kind !== 'warning'),
      [],
    )
  })

  it('returns messages of other queues while one of its own takes long', async t => {
    const foreign = await createForeignQueue(t)
    const { queue, dead, options } = foreign
    await dead.send('theirs')
    await queue.send('a')
    await age(foreign)
    const { subscription, take } = await openQueue(t, queue.name, options)
    const taken = await take(1)
    await until(dead.ready, count => count === 1)
    assert.deepEqual(await subscription.settle(taken), { missed: 0 })
  })

  it('leaves a message that was delivered there too often', async t => {
    const foreign = await createForeignQueue(t)
    const { queue, dead, options } = foreign
    await queue.send('killer')
    await age(foreign)
    const model = await connect(queue.url)
    t.after(() => model.close())
    for (let round = 0; round < 10; round++) {
      const channel = await model.createChannel()
      await until(
        () => channel.get(dead.name),
        message => message !== false,
      )
      await channel.close()
    }
    await until(dead.ready, count => count === 1)
    const managementUrl = (await rabbitmqManagementUrl())!
    const opened = await openQueue(t, queue.name, { ...options, managementUrl })
    assert.match(((await opened.event('warning')) as { reason: string }).reason, /for an operator/)
    await until(dead.ready, count => count === 1)
  })

  it('resumes after the dead-letter queue was deleted and created again', async t => {
    const foreign = await createForeignQueue(t)
    const { queue, dead, options } = foreign
    const { subscription, take, event } = await openQueue(t, queue.name, options)
    await dead.delete()
    await event('disconnected', 2)
    await dead.channel.assertQueue(dead.name, {
      durable: true,
      arguments: { 'x-queue-type': 'quorum', 'x-delivery-limit': -1 },
    })
    await event('connected', 2)
    await queue.send('a')
    assert.deepEqual(await subscription.settle(await take(1)), { missed: 0 })
  })

  it('refuses unsafe declarations', async t => {
    const { queue, dead, options } = await createForeignQueue(t, { 'x-delivery-limit': 20 })
    const managementUrl = (await rabbitmqManagementUrl())!
    const open = (extra: object, inFlightMax = 10) =>
      createRabbitSource(named(queue.name, { ...options, managementUrl, ...extra })).open({
        inFlightMax,
        inFlightBytesMax: 1_000_000,
        onEvent() {},
      })
    const refused = (message: RegExp) => (error: unknown) =>
      error instanceof OncewardError && message.test(error.message)
    await assert.rejects(open({ deadLetterIngest: '' }), refused(/must name a queue/))
    await assert.rejects(open({ deadLetterIngest: queue.name }), refused(/names the queue itself/))
    await assert.rejects(open({ singleActiveConsumer: true }), refused(/later messages of its key/))
    await assert.rejects(open({}, 1), refused(/Allow at least two/))
    await assert.rejects(open({ deadLetterIngest: randomName() }), refused(/does not exist/))
    await assert.rejects(open({}), refused(/has delivery limit 20 itself/))
    assert.equal(await dead.ready(), 0)
  })

  it('warns of a delivery limit without ingest', async t => {
    const { queue } = await createForeignQueue(t)
    const managementUrl = (await rabbitmqManagementUrl())!
    const opened = await openQueue(t, queue.name, { url: queue.url, declare: 'verify', managementUrl })
    assert.match(((await opened.event('warning')) as { reason: string }).reason, /deadLetterIngest/)
  })
})
