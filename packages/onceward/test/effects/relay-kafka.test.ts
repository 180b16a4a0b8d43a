import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { until } from 'onceward/testing'
import { createKafkaPublisher } from '../../src/drivers/kafka/kafka-publisher.ts'
import { openKafka } from '../kafka/fixture.ts'
import { startKafkaProxy } from '../kafka/kafka-proxy.ts'
import { kafkaBootstrap, skipWithout } from '../services/services.ts'
import { assertFirstCopiesInOrder, numbered, type OutboxScene, openOutboxScene } from './outbox-scene.ts'

describe('relay to Kafka', await skipWithout('postgres', 'kafka'), () => {
  let scene: OutboxScene

  before(async () => {
    scene = await openOutboxScene()
  })
  after(() => scene.close())

  const started = async (bootstrap: string, options = {}, confirmTimeoutMs = 15_000) => {
    const publisher = createKafkaPublisher({ bootstrap, confirmTimeoutMs })
    const relay = await scene.start({ broker: 'kafka', publisher, ...options })
    return {
      relay,
      stop: async () => {
        await relay.drain()
        await publisher.close()
      },
    }
  }
  const left = async (topic: string) =>
    (await scene.pool.query('select count(*)::int as n from onceward.outbox where queue = $1', [topic]))
      .rows[0].n
  const copies = (records: readonly { headers: Readonly<Record<string, string | null>> }[]) =>
    records.map(({ headers }) => {
      const id = headers['message-id']!
      return { id, key: id.slice(0, id.lastIndexOf('-')) }
    })

  it('publishes the rows of a key to its partition, once and in order', async t => {
    const kafka = await openKafka(t)
    const topic = await kafka.createTopic({ partitions: 3 })
    const rows = numbered(12, 50)
    await scene.put('kafka', topic, rows)
    const { stop } = await started(kafka.bootstrap)
    await until('all are out', async () => (await left(topic)) === 0)
    await stop()
    const got = copies(await kafka.read(topic))
    assert.equal(got.length, rows.length)
    assertFirstCopiesInOrder(got)
  })

  it('a record that is too large keeps its key waiting, and nothing else', async t => {
    const kafka = await openKafka(t)
    const topic = await kafka.createTopic({ configs: { 'max.message.bytes': '4000' } })
    await scene.put('kafka', topic, [{ id: 'big-0', key: 'big' }])
    await scene.pool.query(
      `insert into onceward.outbox (broker, destination, bucket, queue, message_id, key, body)
       values ('kafka', 'kafka', onceward.outbox_bucket_of('big'), $1, 'big-1', 'big', convert_to(repeat('x', 8000), 'UTF8'))`,
      [topic],
    )
    await scene.put('kafka', topic, [{ id: 'big-2', key: 'big' }, ...numbered(5, 4)])
    const { relay, stop } = await started(kafka.bootstrap)
    await until('the others are out', async () => (await left(topic)) === 2)
    await until('it is reported', () => relay.tally.failures > 0)
    assert.equal(relay.tally.failing, 1)
    assert.ok(!copies(await kafka.read(topic)).some(({ id }) => id === 'big-2'), 'the next waits behind it')
    await kafka.alterTopic(topic, { 'max.message.bytes': '1000000' })
    await until('it leaves too', async () => (await left(topic)) === 0)
    await stop()
    const got = copies(await kafka.read(topic))
    assertFirstCopiesInOrder(got)
    assert.equal(got.length, 23)
  })

  it('rows of a missing topic wait, and are published once it exists', async t => {
    const kafka = await openKafka(t)
    const topic = `later.${Date.now()}`
    await scene.put('kafka', topic, numbered(2, 3))
    const { relay, stop } = await started(kafka.bootstrap)
    await until('it is reported', () => relay.tally.failures > 0)
    assert.equal(await left(topic), 6)
    await kafka.createTopic({ name: topic })
    await until('they leave', async () => (await left(topic)) === 0)
    await stop()
    assertFirstCopiesInOrder(copies(await kafka.read(topic)))
  })

  it('answers lost and connections cut: nothing is lost, first copies are in order', async t => {
    const kafka = await openKafka(t)
    const topic = await kafka.createTopic({ partitions: 2 })
    const proxy = await startKafkaProxy(t, await kafkaBootstrap())
    const { relay, stop } = await started(proxy.bootstrap, { batchMax: 40 }, 3_000)
    const rows = numbered(10, 40)
    for (let at = 0; at < rows.length; at += 100) {
      const before = relay.tally.published
      await scene.put('kafka', topic, rows.slice(at, at + 100))
      await until('some are out', () => relay.tally.published > before)
      if (at % 200 === 0) proxy.deafen()
      proxy.cut()
      proxy.listen()
    }
    await until('all are out', async () => (await left(topic)) === 0)
    await stop()
    const got = copies(await kafka.read(topic))
    assert.equal(new Set(got.map(({ id }) => id)).size, rows.length)
    assertFirstCopiesInOrder(got)
  })
})
