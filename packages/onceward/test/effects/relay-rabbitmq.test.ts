import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import amqp from 'amqplib'
import { createRelay } from '../../src/effects/publish/relay.ts'
import { realSurroundings } from '../../src/runtime/real-surroundings.ts'
import { createRabbitPublisher } from '../../src/sources/rabbitmq/publisher.ts'
import { rabbitmqUrl, skipWithout } from '../services/services.ts'
import { openScene, type Scene, until } from './scene.ts'

describe('relay to RabbitMQ', await skipWithout('postgres', 'rabbitmq'), () => {
  let scene: Scene
  let url: string
  const queue = `dead.${randomUUID()}`
  const missing = `missing.${randomUUID()}`

  before(async () => {
    scene = await openScene()
    url = await rabbitmqUrl()
  })
  after(() => scene.close())

  it('delivers what can be routed, keeps what cannot, and delivers that once its queue exists', async () => {
    const connection = await amqp.connect(url)
    const channel = await connection.createChannel()
    await channel.assertQueue(queue, { durable: true })
    await scene.pool.query(
      `insert into onceward.outbox (broker, queue, message_id, headers, properties, body)
       values ('rabbitmq', $2, 'bad', '{}', '{}', 'x'), ('rabbitmq', $1, 'good', '{"trace":{"$bytes":"AAH/"}}', '{"type":"t"}', '\\x00ff')`,
      [queue, missing],
    )
    const publisher = createRabbitPublisher({ url })
    const relay = createRelay({ pool: scene.pool, broker: 'rabbitmq', publisher, world: realSurroundings() })
    await relay.start()
    const left = async () =>
      (await scene.pool.query('select message_id from onceward.outbox')).rows.map(row => row.message_id)
    await until('the good one is out', async () => (await left()).join() === 'bad')
    const got = await channel.get(queue)
    assert.ok(got)
    assert.deepEqual(
      [got.properties.messageId, got.properties.type, got.content],
      ['good', 't', Buffer.from([0, 255])],
    )
    assert.deepEqual(got.properties.headers?.trace, Buffer.from([0, 1, 255]))
    await until('the other failed', () => relay.tally.failures > 0)
    await channel.assertQueue(missing, { durable: true })
    await until('it leaves too', async () => (await left()).length === 0)
    const found = await channel.get(missing)
    assert.equal(found !== false && found.properties.messageId, 'bad')
    await relay.drain()
    await publisher.close()
    await channel.deleteQueue(queue)
    await channel.deleteQueue(missing)
    await connection.close()
  })
})
