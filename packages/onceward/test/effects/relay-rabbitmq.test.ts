import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import amqp, { type Channel, type ChannelModel } from 'amqplib'
import { until } from 'onceward/testing'
import { dropStuck, listStuck } from '../../src/operations/stuck-outbox.ts'
import { openRabbitPublisher } from '../../src/runtime/open-publisher.ts'
import { startProxyFor } from '../proxy/tcp-proxy.ts'
import { rabbitmqUrl, skipWithout } from '../services/services.ts'
import { assertFirstCopiesInOrder, numbered, type OutboxScene, openOutboxScene } from './outbox-scene.ts'

describe('relay to RabbitMQ', await skipWithout('postgres', 'rabbitmq'), () => {
  let scene: OutboxScene
  let url: string
  let connection: ChannelModel
  let channel: Channel
  const queues: string[] = []

  before(async () => {
    scene = await openOutboxScene()
    url = await rabbitmqUrl()
    connection = await amqp.connect(url)
    channel = await connection.createChannel()
  })
  after(async () => {
    for (const queue of queues) await channel.deleteQueue(queue)
    await connection.close()
    await scene.close()
  })

  const declare = async (args: Record<string, unknown> = {}, name = `relay.${randomUUID()}`) => {
    await channel.assertQueue(name, { durable: true, arguments: { 'x-queue-type': 'quorum', ...args } })
    queues.push(name)
    return name
  }
  const takeAll = async (queue: string) => {
    const got: { id: string; key: string }[] = []
    for (let one = await channel.get(queue); one !== false; one = await channel.get(queue)) {
      channel.ack(one)
      const id = String(one.properties.messageId)
      got.push({ id, key: id.slice(0, id.lastIndexOf('-')) })
    }
    return got
  }
  const left = async (queue: string): Promise<string[]> =>
    (
      await scene.pool.query('select message_id from onceward.outbox where queue = $1 order by id', [queue])
    ).rows.map(row => row.message_id)
  const started = async (address = url, options = {}) => {
    const publisher = await openRabbitPublisher(address, async () => {})
    const relay = await scene.start({ broker: 'rabbitmq', publisher, ...options })
    return {
      relay,
      stop: async () => {
        await relay.drain()
        await publisher.close()
      },
    }
  }

  it('a message beyond max_message_size keeps its key waiting, visibly, and nothing else', async () => {
    const queue = await declare()
    const bytes = 16 * 1024 * 1024 + 1
    await scene.put('rabbitmq', queue, [{ id: 'huge-0', key: 'huge' }])
    await scene.pool.query(
      `insert into onceward.outbox (broker, destination, bucket, queue, message_id, key, body)
       values ('rabbitmq', 'rabbitmq', onceward.outbox_bucket_of('huge'), $1, 'huge-1', 'huge', convert_to(repeat('x', $2), 'UTF8'))`,
      [queue, bytes],
    )
    await scene.put('rabbitmq', queue, [{ id: 'huge-2', key: 'huge' }, ...numbered(3, 2)])
    const { stop } = await started()
    await until('the others are out', async () => (await left(queue)).join() === 'huge-1,huge-2')
    const stuck = async () => (await listStuck(scene.pool)).find(one => one.queue === queue)
    await until('it is shown', async () => (await stuck()) !== undefined)
    const { id, messageId, behind, error } = (await stuck())!
    assert.deepEqual([messageId, behind], ['huge-1', 1])
    assert.match(error!, new RegExp(`message size ${bytes} is larger than .*max size ${bytes - 1}`))
    await dropStuck(scene.pool, id, 'huge-1', 'the broker refuses it')
    await until('the next continues', async () => (await left(queue)).length === 0)
    await stop()
    assertFirstCopiesInOrder(await takeAll(queue))
  })

  it('delivers what can be routed, keeps what cannot, and delivers that once its queue exists', async () => {
    const [queue, missing] = [await declare(), `missing.${randomUUID()}`]
    await scene.put('rabbitmq', missing, [{ id: 'bad-0', key: 'bad' }])
    await scene.put('rabbitmq', queue, [{ id: 'good-0', key: 'good' }])
    const { relay, stop } = await started()
    await until('the good one is out', async () => (await left(queue)).length === 0)
    const got = await channel.get(queue, { noAck: true })
    assert.ok(got)
    const { messageId, type, headers } = got.properties
    assert.deepEqual([messageId, type, got.content.toString()], ['good-0', 't', 'good-0'])
    assert.deepEqual(headers?.trace, Buffer.from([0, 1, 255]))
    await until('the other failed', () => relay.tally.failures > 0)
    await until('and says so', async () => {
      const { rows } = await scene.pool.query('select last_error from onceward.outbox where queue = $1', [
        missing,
      ])
      return /has no route/.test(rows[0].last_error ?? '')
    })
    await declare({}, missing)
    await until('it leaves too', async () => (await left(missing)).length === 0)
    assert.deepEqual(await takeAll(missing), [{ id: 'bad-0', key: 'bad' }])
    await stop()
  })

  it('publishes to an exchange under a routing key', async () => {
    const [queue, exchange] = [await declare(), `exchange.${randomUUID()}`]
    await channel.assertExchange(exchange, 'direct', { autoDelete: true })
    await channel.bindQueue(queue, exchange, 'captured')
    await scene.pool.query(
      `insert into onceward.outbox (broker, destination, bucket, exchange, queue, message_id, body) values ('rabbitmq', 'rabbitmq', 3, $1, 'captured', 'e-0', 'x')`,
      [exchange],
    )
    const { stop } = await started()
    await until('it is out', async () => (await left('captured')).length === 0)
    assert.deepEqual(await takeAll(queue), [{ id: 'e-0', key: 'e' }])
    await stop()
  })

  it('a message that makes the broker close the channel delays its key only', async () => {
    const queue = await declare()
    const nowhere = `exchange.${randomUUID()}`
    await scene.pool.query(
      `insert into onceward.outbox (broker, destination, bucket, exchange, queue, message_id, key, body)
       values ('rabbitmq', 'rabbitmq', onceward.outbox_bucket_of('lost'), $1, 'captured', 'lost-0', 'lost', 'x'),
         ('rabbitmq', 'rabbitmq', onceward.outbox_bucket_of('huge'), null, $2, 'huge-0', 'huge', decode(repeat('00', 17000000), 'hex'))`,
      [nowhere, queue],
    )
    await scene.put('rabbitmq', queue, [{ id: 'huge-1', key: 'huge' }, ...numbered(40, 5)])
    const { stop } = await started()
    await until('the others are out', async () => (await left(queue)).length === 2)
    const reported = async () =>
      (
        await scene.pool.query(
          'select message_id, last_error from onceward.outbox where failures > 0 order by 1',
        )
      ).rows
    await until('both are reported', async () => (await reported()).length === 2)
    const [huge, lost] = await reported()
    assert.match(huge.last_error, /RabbitMQ refused message huge-0/)
    assert.match(lost.last_error, /lost-0 reached no queue/)
    assert.deepEqual(await left(queue), ['huge-0', 'huge-1'])
    await scene.pool.query(`delete from onceward.outbox where message_id in ('lost-0', 'huge-0')`)
    await until('the next leaves', async () => (await left(queue)).length === 0)
    await stop()
    const got = await takeAll(queue)
    assert.equal(new Set(got.map(({ id }) => id)).size, 201)
    assertFirstCopiesInOrder(got)
  })

  it('carries ids longer than AMQP’s short texts in headers, and still notices that no queue got them', async () => {
    const [queue, missing] = [await declare(), `missing.${randomUUID()}`]
    const [id, correlationId] = [`m-${'é'.repeat(200)}`, 'c'.repeat(256)]
    for (const name of [queue, missing])
      await scene.pool.query(
        `insert into onceward.outbox (broker, destination, bucket, queue, message_id, properties, body) values ('rabbitmq', 'rabbitmq', 3, $1, $2, $3, 'x')`,
        [name, id, JSON.stringify({ correlationId, type: 't' })],
      )
    const { relay, stop } = await started()
    await until('it is out', async () => (await left(queue)).length === 0)
    const got = await channel.get(queue, { noAck: true })
    assert.ok(got)
    const { messageId, correlationId: short, type, headers } = got.properties
    assert.match(messageId, /^sha256:[0-9a-f]{64}$/)
    assert.deepEqual([short, type], [undefined, 't'])
    assert.deepEqual(headers, { 'onceward-message-id': id, 'onceward-correlation-id': correlationId })
    await until('the other failed', () => relay.tally.failures > 0)
    assert.deepEqual(await left(missing), [id])
    await stop()
    await scene.pool.query('delete from onceward.outbox where queue = $1', [missing])
  })

  it('a full queue refuses some: no message of a key overtakes a refused one', async () => {
    const queue = await declare({ 'x-max-length': 3, 'x-overflow': 'reject-publish' })
    const rows = numbered(3, 12)
    await scene.put('rabbitmq', queue, rows)
    const { relay, stop } = await started()
    await until('it was refused', () => relay.tally.failures > 0)
    const got: { id: string; key: string }[] = []
    await until(
      'all have come through',
      async () => {
        got.push(...(await takeAll(queue)))
        return new Set(got.map(({ id }) => id)).size === rows.length
      },
      { deadlineMs: 120_000 },
    )
    await stop()
    assertFirstCopiesInOrder(got)
  })

  it('cut again and again: nothing is lost, first copies are in order', async () => {
    const queue = await declare()
    const proxy = await startProxyFor(url)
    const { relay, stop } = await started(proxy.through(url), { batchMax: 50 })
    const rows = numbered(10, 60)
    const cuts: number[] = []
    for (let at = 0; at < rows.length; at += 60) {
      await scene.put('rabbitmq', queue, rows.slice(at, at + 60))
      const sofar = relay.tally.published
      await until('some are out', () => relay.tally.published > sofar || relay.tally.failures > 0)
      cuts.push(proxy.connections)
      proxy.cut()
    }
    await until('all are out', async () => (await left(queue)).length === 0)
    await stop()
    await proxy.close()
    assert.ok(
      cuts.some(open => open > 0),
      'a connection was open when it was cut',
    )
    const got = await takeAll(queue)
    assert.equal(new Set(got.map(({ id }) => id)).size, rows.length)
    assertFirstCopiesInOrder(got)
  })

  it('a broker that is down only keeps the rows waiting', async () => {
    const queue = await declare()
    const proxy = await startProxyFor(url)
    proxy.refuse()
    await scene.put('rabbitmq', queue, numbered(2, 3))
    const { stop } = await started(proxy.through(url), { publishTimeoutMs: 500 })
    await until('it is reported', async () => {
      const { rows } = await scene.pool.query(
        'select max(failures)::int as n from onceward.outbox where queue = $1',
        [queue],
      )
      return rows[0].n > 0
    })
    proxy.accept()
    await until('all are out', async () => (await left(queue)).length === 0)
    await stop()
    await proxy.close()
    assertFirstCopiesInOrder(await takeAll(queue))
  })
})
