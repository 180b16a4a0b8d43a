import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it, type TestContext } from 'node:test'
import {
  createRabbitSource,
  ensureDeadLetterQueue,
  queue as named,
} from '../../src/drivers/rabbitmq/index.ts'
import { diffFromReply } from '../../src/drivers/rabbitmq/topology.ts'
import { OncewardError } from '../../src/errors.ts'
import { startProxyFor } from '../proxy/tcp-proxy.ts'
import { rabbitmqManagementUrl, skipWithout } from '../services/services.ts'
import { createTestQueue, manage, openQueue, randomName, text, until } from './broker.ts'

const limits = { inFlightMax: 10, inFlightBytesMax: 1_000_000, onEvent() {} }

const refusedWith = (code: string, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof OncewardError)
  assert.equal(error.code, code)
  assert.match(error.message, message)
  return true
}

/**
 * The management plugin in the first seconds of a queue, however long those have passed: it does not say yet
 * what applies.
 */
async function youngBroker(t: TestContext): Promise<string> {
  const server = createServer(async (request, response) => {
    const facts = (await manage('GET', request.url!.slice('/api/'.length))) as Record<string, unknown>
    const { delivery_limit: _, effective_policy_definition: __, ...young } = facts
    response.setHeader('content-type', 'application/json').end(JSON.stringify(young))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

describe('rabbitmq topology', await skipWithout('rabbitmq'), () => {
  it('declares a durable quorum queue without a delivery limit, bound as asked', async t => {
    const queue = await createTestQueue(t)
    const bind = [{ exchange: 'amq.topic', routingKey: `${queue.name}.*` }]
    const { take } = await openQueue(t, queue.name, { url: queue.url, bind })
    const facts = (await manage('GET', `queues/%2F/${queue.name}`)) as {
      arguments: unknown
      durable: boolean
    }
    assert.deepEqual(facts.arguments, { 'x-queue-type': 'quorum', 'x-delivery-limit': -1 })
    assert.equal(facts.durable, true)
    queue.channel.publish('amq.topic', `${queue.name}.paid`, Buffer.from('a'))
    const [delivery] = await take(1)
    assert.equal(delivery!.key, `${queue.name}.paid`)
  })

  it('fails fast with every argument that differs, where the management plugin answers', async t => {
    const queue = await createTestQueue(t)
    const extra = { 'x-queue-type': 'quorum', 'x-delivery-limit': 5, 'x-max-length': 100 }
    await queue.channel.assertQueue(queue.name, { durable: true, arguments: extra })
    const managementUrl = (await rabbitmqManagementUrl())!
    await assert.rejects(
      createRabbitSource(named(queue.name, { url: queue.url, managementUrl })).open(limits),
      refusedWith(
        'topology_mismatch',
        /x-delivery-limit: asked -1, the queue has 5\n\s+x-max-length: asked none, the queue has 100\nNothing was changed/,
      ),
    )
  })

  it("fails fast with the broker's error, where it does not", async t => {
    const queue = await createTestQueue(t)
    await queue.channel.assertQueue(queue.name, { durable: true, arguments: { 'x-queue-type': 'classic' } })
    const managementUrl = 'http://127.0.0.1:1'
    await assert.rejects(
      createRabbitSource(named(queue.name, { url: queue.url, managementUrl })).open(limits),
      refusedWith('topology_mismatch', /x-queue-type: asked quorum, the queue has classic/),
    )
    assert.equal(
      diffFromReply(
        "inequivalent arg 'x-expires' for queue 'q' in vhost '/': received none but current is the value '9' of type 'long'",
      ),
      'x-expires: asked none, the queue has 9 (the broker names the first difference only)',
    )
  })

  it('refuses a delivery limit without a dead-letter destination, before anything is opened', async () => {
    const declaration = named('never-made', { url: 'amqp://127.0.0.1:1', deliveryLimit: 20 })
    await assert.rejects(
      createRabbitSource(declaration).open(limits),
      refusedWith('topology_unsafe', /no dead-letter exchange/),
    )
  })

  it('refuses a queue that dead-letters to itself, or to a target that does not exist', async t => {
    const queue = await createTestQueue(t)
    const toItself = named(queue.name, { url: queue.url, deadLetterExchange: '' })
    await assert.rejects(
      createRabbitSource(toItself).open(limits),
      refusedWith('topology_unsafe', /to itself/),
    )
    for (const target of [
      { deadLetterExchange: randomName() },
      { deadLetterExchange: '', deadLetterRoutingKey: randomName() },
    ]) {
      const declaration = named(queue.name, { url: queue.url, ...target })
      await assert.rejects(
        createRabbitSource(declaration).open(limits),
        refusedWith('topology_unsafe', /does not exist/),
      )
    }
  })

  it('with a limit and a dead-letter queue, a rejected message arrives there at least once', async t => {
    const dead = await createTestQueue(t)
    await ensureDeadLetterQueue(dead.url, dead.name)
    const queue = await createTestQueue(t)
    const options = { deadLetterExchange: '', deadLetterRoutingKey: dead.name, deliveryLimit: 1 }
    const { subscription } = await openQueue(t, queue.name, { url: queue.url, ...options })
    await subscription.close()
    await queue.send('a')
    await until(queue.ready, count => count === 1)
    const message = await queue.channel.get(queue.name)
    queue.channel.reject(message as never, false)
    await until(dead.ready, count => count === 1)
  })

  it('refuses a queue of others whose limit would drop messages, with the fix', async t => {
    const queue = await createTestQueue(t)
    await queue.channel.assertQueue(queue.name, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
    const managementUrl = (await rabbitmqManagementUrl())!
    const declaration = named(queue.name, { url: queue.url, declare: 'verify', managementUrl })
    const reported = async () =>
      (await manage('GET', `queues/%2F/${queue.name}`)) as { delivery_limit?: number }
    const beforeReport = { url: queue.url, declare: 'verify' as const, managementUrl: await youngBroker(t) }
    const young = await openQueue(t, queue.name, beforeReport)
    assert.match(((await young.event('warning')) as { reason: string }).reason, /which policies apply/)
    await until(reported, facts => facts.delivery_limit !== undefined)
    await assert.rejects(
      createRabbitSource(declaration).open(limits),
      refusedWith('topology_unsafe', /limit 20 and no dead-letter.*x-delivery-limit: -1/),
    )
  })

  it('warns when a queue of others cannot be checked, and consumes', async t => {
    const queue = await createTestQueue(t)
    await queue.channel.assertQueue(queue.name, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
    const opened = await openQueue(t, queue.name, {
      url: queue.url,
      declare: 'verify',
      managementUrl: 'http://127.0.0.1:1',
    })
    const { reason } = (await opened.event('warning')) as { reason: string }
    assert.match(reason, /could not be checked/)
    await queue.send('a')
    assert.deepEqual(text(await opened.take(1)), ['a'])
  })

  it('rejects open for a queue of others that is missing, a wrong password, a wrong virtual host and a bad URL', async t => {
    const { url } = await createTestQueue(t)
    const verify = named(randomName(), { url, declare: 'verify' })
    await assert.rejects(
      createRabbitSource(verify).open(limits),
      refusedWith('configuration', /does not exist/),
    )
    const stranger = new URL(url)
    stranger.password = 'wrong-secret'
    const wrong = createRabbitSource(named('q', { url: stranger.href })).open(limits)
    await assert.rejects(wrong, error => {
      assert.doesNotMatch((error as Error).message, /wrong-secret/)
      return refusedWith('configuration', /refused the user name or password/)(error)
    })
    const elsewhere = new URL(url)
    elsewhere.pathname = '/nowhere'
    await assert.rejects(
      createRabbitSource(named('q', { url: elsewhere.href })).open(limits),
      refusedWith('configuration', /virtual host/),
    )
    await assert.rejects(
      createRabbitSource(named('q'), { url: 'http://x' }).open(limits),
      refusedWith('configuration', /amqp:\/\/user/),
    )
    await assert.rejects(
      createRabbitSource(named('q')).open(limits),
      refusedWith('configuration', /none was given/),
    )
  })

  it('aborts an open on its signal', async () => {
    const stop = new AbortController()
    const onEvent = () => stop.abort()
    const source = createRabbitSource(named('q', { url: 'amqp://127.0.0.1:1' }), { signal: stop.signal })
    await assert.rejects(
      source.open({ ...limits, onEvent }),
      refusedWith('broker_unreachable', /Nothing was consumed/),
    )
  })

  it('a single active consumer passes everything on in order when it leaves', async t => {
    const queue = await createTestQueue(t)
    const options = { url: queue.url, singleActiveConsumer: true }
    const one = await openQueue(t, queue.name, options)
    const two = await openQueue(t, queue.name, options)
    assert.equal(createRabbitSource(named(queue.name, options)).capabilities.order.key, true)
    await queue.send(...'abcdef')
    const held = await one.take(6)
    assert.deepEqual(text(held), [...'abcdef'])
    await one.subscription.settle(held.slice(0, 2))
    await one.subscription.close()
    assert.deepEqual(text(await two.take(4)), [...'cdef'])
  })

  it('a single active consumer keeps the order through cuts, and only warns over its byte budget', async t => {
    const queue = await createTestQueue(t)
    const proxy = await startProxyFor(queue.url)
    t.after(() => proxy.close())
    const size = 640 * 1024
    const options = { url: proxy.through(queue.url), singleActiveConsumer: true }
    const opened = await openQueue(t, queue.name, options, { inFlightMax: 100, inFlightBytesMax: 2 * size })
    await queue.send(...Array.from({ length: 12 }, (_, i) => Buffer.alloc(size, String.fromCharCode(97 + i))))
    await opened.event('warning')
    for (let epoch = 2; epoch <= 4; epoch++) {
      const [first] = await opened.take(1)
      assert.equal(first!.body.toString('latin1', 0, 1), 'a')
      proxy.cut()
      await opened.event('connected', epoch)
    }
    const seen: string[] = []
    while (seen.length < 12) {
      const deliveries = await opened.subscription.receive(1)
      seen.push(...deliveries.map(({ body }) => body.toString('latin1', 0, 1)))
      await opened.subscription.settle(deliveries)
    }
    assert.equal(seen.join(''), 'abcdefghijkl')
  })
})
