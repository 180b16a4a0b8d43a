import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ensureTopic } from '../../src/drivers/kafka/ensure-topic.ts'
import { createKafkaPublisher } from '../../src/drivers/kafka/kafka-publisher.ts'
import { createRelay } from '../../src/effects/publish/relay.ts'
import { OncewardError } from '../../src/errors.ts'
import { realEnvironment } from '../../src/runtime/real-environment.ts'
import { until } from '../../src/testing/until.ts'
import { openScene } from '../effects/scene.ts'
import { skipWithout } from '../services/services.ts'
import { openKafka, randomName } from './fixture.ts'

describe('publishing to Kafka', await skipWithout('kafka', 'postgres'), () => {
  test('headers, key, properties and bytes arrive; the time is that of publishing', async t => {
    const kafka = await openKafka(t)
    const topic = await kafka.createTopic({ partitions: 4 })
    const publisher = createKafkaPublisher({ bootstrap: kafka.bootstrap })
    t.after(() => publisher.close())
    const before = Date.now()
    const results = await publisher.publish([
      {
        queue: topic,
        messageId: 'm-1',
        key: 'case-7',
        headers: {
          trace: Buffer.from([0, 255]),
          'message-id': Buffer.from('old'),
          tries: 3,
          nested: { a: 1 },
          none: null,
          'onceward-position': 'case-events/3@1207',
        },
        properties: { type: 'case-opened', timestampMs: 1_000 },
        body: Buffer.from('body'),
      },
      { queue: topic, messageId: 'm-2', key: 'base64:/wA=', body: Buffer.from('binary key') },
    ])
    assert.deepEqual(results, ['confirmed', 'confirmed'])
    const found = await kafka.read(topic)
    const { headers, key, value, timestampMs, partition } = found.find(({ value }) => value === 'body')!
    assert.deepEqual([key, value], ['case-7', 'body'])
    assert.deepEqual(headers, {
      trace: Buffer.from([0, 255]).toString(),
      'message-id': 'm-1',
      tries: '3',
      nested: '{"a":1}',
      none: null,
      'onceward-position': 'case-events/3@1207',
      'message-type': 'case-opened',
      'onceward-timestamp': '1000',
    })
    assert.ok(timestampMs >= before, 'retention counts from now')
    assert.equal((await kafka.produce(topic, [{ key: 'case-7', value: 'again' }])).length, 1)
    const again = (await kafka.read(topic)).find(({ value }) => value === 'again')!
    assert.equal(again.partition, partition)
    const binary = found.find(({ value }) => value === 'binary key')!
    assert.equal(binary.key, Buffer.from([255, 0]).toString())
  })

  test('the relay publishes what it can, keeps rows without a topic, and publishes them once it exists', async t => {
    const kafka = await openKafka(t)
    const scene = await openScene()
    t.after(() => scene.close())
    const topic = await kafka.createTopic()
    const missing = randomName('missing')
    await scene.pool.query(
      `insert into onceward.outbox (broker, destination, bucket, queue, message_id, key, headers, properties, body)
       values ('kafka', 'kafka', 0, $2, 'bad', null, '{}', '{}', 'x'), ('kafka', 'kafka', 1, $1, 'good', 'k', '{"onceward-origin":"t"}', '{}', 'y')`,
      [topic, missing],
    )
    const publisher = createKafkaPublisher({ bootstrap: kafka.bootstrap })
    const relay = createRelay({ pool: scene.pool, broker: 'kafka', publisher, env: realEnvironment() })
    await relay.start()
    const left = async () =>
      (await scene.pool.query('select message_id from onceward.outbox')).rows
        .map(row => row.message_id)
        .join()
    await until('the good one is out', async () => (await left()) === 'bad')
    const [good] = await kafka.read(topic)
    assert.deepEqual(
      [good!.key, good!.value, good!.headers],
      ['k', 'y', { 'onceward-origin': 't', 'message-id': 'good' }],
    )
    await until('the other failed', () => relay.tally.failures > 0)
    await kafka.createTopic({ name: missing })
    await until('it leaves too', async () => (await left()) === '')
    assert.equal((await kafka.read(missing))[0]!.headers['message-id'], 'bad')
    await relay.drain()
    await publisher.close()
  })

  test('a dead-letter topic is looked up, and created only with given settings', async t => {
    const kafka = await openKafka(t)
    const { bootstrap } = kafka
    const name = randomName('dead')
    await assert.rejects(ensureTopic({ bootstrap }, name), (error: OncewardError) => {
      assert.ok(error instanceof OncewardError)
      return error.code === 'configuration' && error.message.includes(`--topic ${name}`)
    })
    assert.equal(await kafka.connections.findTopic(name), null)
    const create = { partitions: 3, configs: { 'retention.ms': '1000' } }
    await Promise.all([ensureTopic({ bootstrap }, name, create), ensureTopic({ bootstrap }, name, create)])
    await until('it is there', async () => (await kafka.connections.findTopic(name))?.partitions.length === 3)
    await ensureTopic({ bootstrap }, name, { partitions: 9 })
    assert.equal((await kafka.connections.findTopic(name))?.partitions.length, 3)
    await kafka.deleteTopic(name)
  })
})
