import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { KafkaConnections } from '../../src/drivers/kafka/client/connections.ts'
import { fetchCommitted } from '../../src/drivers/kafka/client/fetch-committed.ts'
import type { CommittedOffset } from '../../src/drivers/kafka/client/kafka-client.ts'
import { troubleOf } from '../../src/drivers/kafka/client/kafka-error.ts'
import { KafkaProducer } from '../../src/drivers/kafka/client/producer.ts'
import { TransactionalProducer } from '../../src/drivers/kafka/client/transactions.ts'
import { topic } from '../../src/drivers/kafka/topic.ts'
import { createKafkaTransform } from '../../src/drivers/kafka/transform.ts'
import { defineTransform, reject, runTransform } from '../../src/index.ts'
import { realEnvironment } from '../../src/runtime/real-environment.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { openKafka, randomName, type TestKafka } from './fixture.ts'
import { keptLog } from './kept-log.ts'
import { type PrivateKafka, startPrivateKafka } from './private-kafka.ts'

const record = (topic: string, value: string) => ({
  topic,
  partition: 0,
  key: null,
  value: Buffer.from(value),
  headers: [],
  timestampMs: Date.now(),
})

/** A broker that shares two cores with thirty processes needs more than 90 s. */
const restartMaxMs = 300_000

function whileItLoads(error: unknown): ReadonlyMap<number, CommittedOffset> {
  if (!troubleOf(error).retriable) throw error
  return new Map()
}

interface Run {
  readonly from: string
  readonly group: string
  readonly finished: Promise<void>
}

/**
 * Waits until the group has committed this many offsets, for as long as it makes progress.
 */
async function untilCommitted(kafka: TestKafka, { from, group, finished }: Run, goal: number): Promise<void> {
  let halted: unknown = null
  finished.catch(error => {
    halted = error
  })
  const count = async () => {
    if (halted !== null) throw halted
    const offsets = await fetchCommitted(kafka.connections, group, from, [0, 1]).catch(whileItLoads)
    return [...offsets.values()].reduce((sum, { offset }) => sum + offset, 0)
  }
  for (let done = -1; done < goal; ) {
    const before = done
    const isFurther = async () => {
      done = await count()
      return done > before
    }
    await until(`more than ${before} of ${goal} are committed`, isFurther, { deadlineMs: 90_000 })
  }
}

describe('a broker that is killed and comes back', await skipWithout('kafka'), () => {
  let broker: PrivateKafka
  before(async () => {
    // Synced at every record, because a single broker that is killed has no replica to keep its promise.
    broker = await startPrivateKafka({ properties: { 'log.flush.interval.messages': '1' } })
  })
  after(() => broker.close())

  test('has each record sent during its crash once and in order', async t => {
    const kafka = await openKafka(t, broker.bootstrap)
    const topic = await kafka.createTopic()
    const connections = new KafkaConnections({ bootstrap: broker.bootstrap })
    t.after(() => connections.close())
    const producer = new KafkaProducer(connections, { deliveryTimeoutMs: restartMaxMs })
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

  test('ends a transaction that was open when it crashed, once', async t => {
    const kafka = await openKafka(t, broker.bootstrap)
    const topic = await kafka.createTopic()
    const connections = new KafkaConnections({ bootstrap: broker.bootstrap })
    t.after(() => connections.close())
    const producer = new TransactionalProducer(connections, {
      transactionalId: randomName('tx'),
      transactionTimeoutMs: restartMaxMs,
      deliveryTimeoutMs: restartMaxMs,
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

  test('has every output and dead letter once, of a transform with retries that ran through its crash', async t => {
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
    const group = randomName('group')
    const transform = defineTransform<number>({
      name: 'restarted',
      owner: 'team',
      risk: 'low value',
      source: topic(from, { group, start: 'earliest', sessionTimeoutMs: 6_000 }),
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
    const env = realEnvironment({ log: keptLog(t) })
    const running = await runTransform(transform, { kafkaBootstrap: broker.bootstrap, env })
    t.after(() => running.drain().catch(() => {}))
    const run = { from, group, finished: running.finished }
    await untilCommitted(kafka, run, 100)
    await broker.kill()
    await until('it is not ready', () => !running.health().ready)
    await broker.start()
    await untilCommitted(kafka, run, values.length)
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

  test('has every output once, of a transform that ran through its crash and a freeze', async t => {
    const kafka = await openKafka(t, broker.bootstrap)
    const [input, output] = [await kafka.createTopic({ partitions: 2 }), await kafka.createTopic()]
    const values = Array.from({ length: 3_000 }, (_, index) => String(index))
    await kafka.produce(
      input,
      values.map((value, index) => ({ value, partition: index % 2 })),
    )
    const group = randomName('group')
    const transform = createKafkaTransform({
      bootstrap: broker.bootstrap,
      from: input,
      group,
      start: 'earliest',
      sessionTimeoutMs: 6_000,
      batchMax: 10,
      map: ({ value }) => [{ topic: output, value }],
      log: keptLog(t),
    })
    await transform.start()
    t.after(() => transform.drain().catch(() => {}))
    const run = { from: input, group, finished: transform.finished }
    await untilCommitted(kafka, run, 100)
    await broker.kill()
    const before = transform.tally.records
    await broker.start()
    await untilCommitted(kafka, run, Math.min(before + 100, values.length))
    broker.freeze()
    const silent = performance.now()
    await until('longer than a session', () => performance.now() - silent > 8_000)
    broker.resume()
    await untilCommitted(kafka, run, values.length)
    // A commit is answered before its markers are written, and only those make it visible.
    await until('all is visible', async () => (await kafka.read(output)).length >= values.length)
    const read = (await kafka.read(output)).map(({ value }) => Number(value))
    assert.deepEqual(
      read.toSorted((a, b) => a - b),
      values.map(Number),
    )
  })
})
