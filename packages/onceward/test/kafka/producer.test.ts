import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { murmur2 } from '../../src/drivers/kafka/client/choose-partition.ts'
import { KafkaConnections } from '../../src/drivers/kafka/client/connections.ts'
import { KafkaProducer, type ProducerOptions } from '../../src/drivers/kafka/client/producer.ts'
import { OncewardError } from '../../src/errors.ts'
import { skipWithout } from '../services/services.ts'
import { openKafka, type TestKafka } from './fixture.ts'
import { startKafkaProxy } from './kafka-proxy.ts'

const produceKey = 0

const record = (topic: string, value: string, partition = 0) => ({
  topic,
  partition,
  key: null,
  value: Buffer.from(value),
  headers: [],
  timestampMs: Date.now(),
})

const valuesOf = async (kafka: TestKafka, topic: string) =>
  (await kafka.read(topic, 'uncommitted')).map(({ value }) => value)

test('keys hash as Java hashes them', () => {
  const vectors: readonly (readonly [string, number])[] = [
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ]
  assert.deepEqual(
    vectors.map(([key]) => murmur2(Buffer.from(key))),
    vectors.map(([, hash]) => hash),
  )
})

describe('the idempotent producer', await skipWithout('kafka'), () => {
  const behindProxy = async (t: TestContext, options: ProducerOptions = {}) => {
    const kafka = await openKafka(t)
    const proxy = await startKafkaProxy(t, kafka.bootstrap)
    const connections = new KafkaConnections({ bootstrap: proxy.bootstrap }, { produce: 2_000, meta: 2_000 })
    const producer = new KafkaProducer(connections, options)
    t.after(() => {
      producer.close()
      return connections.close()
    })
    return { kafka, proxy, producer, topic: await kafka.createTopic({ partitions: 2 }) }
  }

  test('stores a batch once whose answer was lost, and the next ones behind it', async t => {
    const { kafka, proxy, producer, topic } = await behindProxy(t)
    let tries = 0
    proxy.onRequest(apiKey => {
      if (apiKey === produceKey && ++tries === 1) proxy.deafen()
      else proxy.listen()
    })
    const sent = [
      producer.send([record(topic, 'a'), record(topic, 'b')]),
      producer.send([record(topic, 'c')]),
    ]
    const [first, second] = await Promise.all(sent)
    assert.deepEqual(first, [
      { topic, partition: 0, offset: 0n },
      { topic, partition: 0, offset: 1n },
    ])
    assert.deepEqual(second, [{ topic, partition: 0, offset: 2n }])
    assert.equal(tries, 3)
    assert.deepEqual(await valuesOf(kafka, topic), ['a', 'b', 'c'])
  })

  test('stores everything once and in order while connections are cut again and again', async t => {
    const { kafka, proxy, producer, topic } = await behindProxy(t)
    const expected = Array.from({ length: 150 }, (_, index) => String(index))
    let requests = 0
    proxy.onRequest(apiKey => {
      if (apiKey === produceKey && ++requests % 10 === 5) setImmediate(() => proxy.cut())
    })
    for (const value of expected) {
      const results = await producer.send([record(topic, value), record(topic, value, 1)])
      assert.ok(results.every(result => !(result instanceof Error)))
    }
    assert.ok(requests > 320, `some were sent again: ${requests}`)
    assert.deepEqual(await valuesOf(kafka, topic), [...expected, ...expected])
  })

  test('gives up in time with an unknown result, and continues afterwards', async t => {
    const { kafka, proxy, producer, topic } = await behindProxy(t, { deliveryTimeoutMs: 5_000 })
    await producer.send([record(topic, 'before')])
    proxy.onRequest(apiKey => {
      if (apiKey === produceKey) proxy.deafen()
    })
    const [lost] = await producer.send([record(topic, 'unknown')])
    assert.ok(lost instanceof OncewardError)
    assert.equal(lost.code, 'publish_unconfirmed')
    assert.match(lost.message, /may or may not be stored/)
    proxy.onRequest(null)
    proxy.listen()
    const [after] = await producer.send([record(topic, 'after')])
    assert.ok(!(after instanceof Error), String(after))
    assert.deepEqual(await valuesOf(kafka, topic), ['before', 'unknown', 'after'])
  })

  test('isolates the refused record and stores the others', async t => {
    const kafka = await openKafka(t)
    const topic = await kafka.createTopic({ configs: { 'max.message.bytes': '1000' } })
    const producer = new KafkaProducer(kafka.connections)
    const values = ['a', 'x'.repeat(2_000), 'b', 'c', 'd'.repeat(600), 'e'.repeat(600)]
    const results = await producer.send(values.map(value => record(topic, value)))
    const failed = results.map(result => (result instanceof OncewardError ? result.code : 'stored'))
    assert.deepEqual(failed, ['stored', 'publish_refused', 'stored', 'stored', 'stored', 'stored'])
    assert.deepEqual(
      await valuesOf(kafka, topic),
      values.filter(value => value.length < 1_000),
    )
  })

  test('sends nothing to a missing topic, and the rest to its topics', async t => {
    const kafka = await openKafka(t)
    const topic = await kafka.createTopic()
    const producer = new KafkaProducer(kafka.connections)
    const [missing, stored] = await producer.send([record('not.there', 'a'), record(topic, 'b')])
    assert.ok(missing instanceof OncewardError)
    assert.equal(missing.code, 'publish_unroutable')
    assert.deepEqual(stored, { topic, partition: 0, offset: 0n })
  })
})
