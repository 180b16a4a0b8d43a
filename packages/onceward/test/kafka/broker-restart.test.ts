import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { KafkaConnections } from '../../src/drivers/kafka/client/connections.ts'
import { KafkaProducer } from '../../src/drivers/kafka/client/producer.ts'
import { TransactionalProducer } from '../../src/drivers/kafka/client/transactions.ts'
import { topic } from '../../src/drivers/kafka/topic.ts'
import { createKafkaTransform } from '../../src/drivers/kafka/transform.ts'
import { defineTransform, reject, runTransform } from '../../src/index.ts'
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

  test('has every output and dead letter once of a transform with retries that ran through its death', async t => {
    const kafka = await openKafka(t, broker.bootstrap)
    const [from, to, dead] = [
      await kafka.createTopic({ partitions: 2 }),
      await kafka.createTopic({ partitions: 2 }),
      await kafka.createTopic(),
    ]
    const values = Array.from({ length: 1_500 }, (_, index) => index)
    await kafka.produce(
      from,
      values.map(value => ({ value: String(value), partition: value % 2 })),
    )
    const failed = new Set<number>()
    const transform = defineTransform<number>({
      name: 'restarted',
      owner: 'team',
      risk: 'low value',
      source: topic(from, { group: randomName('group'), start: 'earliest', sessionTimeoutMs: 6_000 }),
      to: [to],
      failure: { deadLetter: dead, delayMs: 10, breaker: false },
      batch: { sizeMax: 10 },
      map: ({ message }) => {
        if (message % 10 === 7) return reject('a seven')
        if (message % 10 === 3 && !failed.has(message)) {
          failed.add(message)
          throw new Error('once')
        }
        return [{ topic: to, partition: message % 2, value: String(message) }]
      },
    })
    const running = await runTransform(transform, { kafkaBootstrap: broker.bootstrap })
    t.after(() => running.drain().catch(() => {}))
    let halted: unknown = null
    running.finished.catch(error => {
      halted = error
    })
    const works = (count: number) => {
      if (halted !== null) throw halted
      const { applied = 0, 'dead-lettered': set = 0 } = running.tally.outcomes
      return applied + set >= count
    }
    await until('it works', () => works(100))
    await broker.kill()
    await until('it is not ready', () => !running.health().ready, { deadlineMs: 60_000 })
    await broker.start()
    await until('all is written', () => works(values.length), { deadlineMs: 120_000 })
    const visible = async () => (await kafka.read(to)).length + (await kafka.read(dead)).length
    await until('all is visible', async () => (await visible()) >= values.length)
    const read = await kafka.read(to)
    for (const partition of [0, 1])
      assert.deepEqual(
        read.filter(one => one.partition === partition).map(({ value }) => Number(value)),
        values.filter(value => value % 2 === partition && value % 10 !== 7),
      )
    const letters = (await kafka.read(dead)).map(({ value }) => Number(value))
    assert.deepEqual(
      letters.toSorted((a, b) => a - b),
      values.filter(value => value % 10 === 7),
    )
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
