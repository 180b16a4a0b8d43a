import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { KafkaConnections } from '../../src/drivers/kafka/client/connections.ts'
import { KafkaProducer } from '../../src/drivers/kafka/client/producer.ts'
import { TransactionalProducer } from '../../src/drivers/kafka/client/transactions.ts'
import { createKafkaTransform } from '../../src/drivers/kafka/transform.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { openKafka, randomName } from './fixture.ts'
import { type PrivateKafka, startPrivateKafka } from './private-kafka.ts'

const record = (topic: string, value: string) => ({
  topic,
  partition: 0,
  key: null,
  value: Buffer.from(value),
  headers: [],
  timestampMs: Date.now(),
})

describe('a broker that is killed and comes back', await skipWithout('kafka'), () => {
  let broker: PrivateKafka
  before(async () => {
    // Synced at every record, because a single broker that is killed has no replica to keep its promise.
    broker = await startPrivateKafka({ properties: { 'log.flush.interval.messages': '1' } })
  })
  after(() => broker.close())

  test('has what was sent through its death once and in order', async t => {
    const kafka = await openKafka(t, broker.bootstrap)
    const topic = await kafka.createTopic()
    const connections = new KafkaConnections({ bootstrap: broker.bootstrap })
    t.after(() => connections.close())
    const producer = new KafkaProducer(connections, { deliveryTimeoutMs: 90_000 })
    const values = Array.from({ length: 60 }, (_, index) => String(index))
    let sent = 0
    const sending = (async () => {
      for (const value of values) {
        const [result] = await producer.send([record(topic, value)])
        assert.ok(!(result instanceof Error), String(result))
        sent++
      }
    })()
    await until('some are stored', () => sent > 10)
    await broker.kill()
    await broker.start()
    await sending
    const read = await kafka.read(topic)
    assert.deepEqual(
      read.map(({ value }) => value),
      values,
    )
  })

  test('ends a transaction that was open when it died, once', async t => {
    const kafka = await openKafka(t, broker.bootstrap)
    const topic = await kafka.createTopic()
    const connections = new KafkaConnections({ bootstrap: broker.bootstrap })
    t.after(() => connections.close())
    const producer = new TransactionalProducer(connections, {
      transactionalId: randomName('tx'),
      transactionTimeoutMs: 60_000,
      deliveryTimeoutMs: 90_000,
    })
    await producer.start()
    await producer.send([record(topic, 'a')])
    await broker.kill()
    await broker.start()
    await producer.send([record(topic, 'b')])
    await producer.commit()
    await until('both are visible', async () => (await kafka.read(topic)).length === 2)
    await producer.send([record(topic, 'c')])
    await producer.commit()
    await until('and the next', async () => (await kafka.read(topic)).length === 3)
  })

  test('has every output of a transform once that ran through its death and a freeze', async t => {
    const kafka = await openKafka(t, broker.bootstrap)
    const [input, output] = [await kafka.createTopic({ partitions: 2 }), await kafka.createTopic()]
    const values = Array.from({ length: 3_000 }, (_, index) => String(index))
    await kafka.produce(
      input,
      values.map((value, index) => ({ value, partition: index % 2 })),
    )
    const transform = createKafkaTransform({
      bootstrap: broker.bootstrap,
      from: input,
      group: randomName('group'),
      start: 'earliest',
      sessionTimeoutMs: 6_000,
      batchMax: 10,
      map: ({ value }) => [{ topic: output, value }],
    })
    await transform.start()
    t.after(() => transform.drain().catch(() => {}))
    let halted: unknown = null
    transform.finished.catch(error => {
      halted = error
    })
    const works = (count: number) => {
      if (halted !== null) throw halted
      return transform.tally.records >= count
    }
    await until('it works', () => transform.tally.records > 100)
    await broker.kill()
    await broker.start()
    const goal = Math.min(transform.tally.records + 100, values.length)
    await until('it works again', () => works(goal), { deadlineMs: 90_000 })
    broker.freeze()
    const silent = performance.now()
    await until('longer than a session', () => performance.now() - silent > 8_000)
    broker.resume()
    await until('all is written', () => works(values.length), { deadlineMs: 90_000 })
    // A commit is answered before its markers are written, and only those make it visible.
    await until('all is visible', async () => (await kafka.read(output)).length >= values.length)
    const read = (await kafka.read(output)).map(({ value }) => Number(value))
    assert.deepEqual(
      read.toSorted((a, b) => a - b),
      values.map(Number),
    )
  })
})
