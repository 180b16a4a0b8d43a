import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { randomName } from './fixture.ts'
import { startKafkaProxy } from './kafka-proxy.ts'
import { numbered, openCluster, openReader, texts } from './reader.ts'

const fetchKey = 1

describe('one member of a Kafka group', await skipWithout('kafka'), () => {
  test('delivers every part of a record, with its position', async t => {
    const kafka = await openCluster(t)
    const name = await kafka.createTopic({ partitions: 1 })
    const timestampMs = 1_700_000_000_000
    await kafka.produce(name, [
      {
        value: 'first',
        key: 'customer 7',
        timestampMs,
        headers: { 'message-id': 'm-1', 'content-type': 'text/plain', tenant: Buffer.from([0xff, 0]) },
      },
      { value: null, key: Buffer.from([0xff, 0xfe]) },
      { value: '', key: 'base64:/w==' },
    ])
    const [first, deleted, empty] = await (await openReader(kafka, name)).take(3)
    assert.equal(first!.body.toString(), 'first')
    assert.equal(first!.key, 'customer 7')
    assert.equal(first!.position, `${name}/0@0`)
    assert.equal(first!.partition, `${name}/0`)
    assert.equal(first!.origin, name)
    assert.equal(first!.redelivered, false)
    assert.deepEqual({ ...first!.properties }, { messageId: 'm-1', contentType: 'text/plain', timestampMs })
    assert.deepEqual(first!.headers.tenant, Buffer.from([0xff, 0]))
    const { id } = await kafka.connections.describeTopic(name)
    assert.deepEqual(first!.place, { incarnation: id, epoch: 1, at: '0', next: '1' })
    assert.equal(deleted!.body.length, 0)
    assert.equal(deleted!.properties.tombstone, true)
    assert.equal(deleted!.key, 'base64://4=')
    assert.equal(empty!.properties.tombstone, undefined, 'an empty value is no tombstone')
    assert.notEqual(empty!.key, 'base64:/w==', 'a text that looks marked is marked itself')
  })

  test('polls an idle topic with one request at a time', async t => {
    const kafka = await openCluster(t)
    const proxy = await startKafkaProxy(t, kafka.bootstrap)
    const name = await kafka.createTopic({ partitions: 4 })
    const fetches: number[] = []
    proxy.onRequest(apiKey => void (apiKey === fetchKey && fetches.push(performance.now())))
    await kafka.produce(
      name,
      numbered(4).map((value, partition) => ({ value, partition })),
    )
    const reader = await openReader(kafka, name, { bootstrap: proxy.bootstrap })
    await reader.take(4)
    const readMs = performance.now()
    await until('a second passes with a few requests', () => {
      const sinceMs = performance.now() - 1_000
      return sinceMs > readMs && fetches.filter(atMs => atMs > sinceMs).length <= 4
    })
  })

  test('commits settled positions and continues there after a restart', async t => {
    const kafka = await openCluster(t)
    const name = await kafka.createTopic({ partitions: 1 })
    const group = randomName('group')
    const checkpoints = new MemoryCheckpoints()
    await kafka.produce(name, numbered(10))
    const first = await openReader(kafka, name, { group, checkpoints })
    const taken = await first.take(10)
    assert.deepEqual(texts(taken), numbered(10))
    assert.deepEqual(await first.subscription.settle(taken.slice(0, 6)), { missed: 0 })
    await first.close()
    assert.equal((await kafka.committed(group, name)).get(0), 6)
    assert.ok(taken.every(delivery => !first.subscription.isLive(delivery)))

    const second = await openReader(kafka, name, { group, checkpoints })
    const again = await second.take(4)
    assert.deepEqual(texts(again), numbered(10).slice(6))
    assert.equal(again[0]!.place!.epoch, 2)
  })

  test('commits only the gapless run when settled out of order', async t => {
    const kafka = await openCluster(t)
    const name = await kafka.createTopic({ partitions: 1 })
    const group = randomName('group')
    await kafka.produce(name, numbered(5))
    const reader = await openReader(kafka, name, { group })
    const taken = await reader.take(5)
    const committed = async () => (await kafka.committed(group, name)).get(0)
    await reader.subscription.settle([taken[0]!, taken[1]!, taken[3]!])
    await until('two are committed', async () => (await committed()) === 2)
    await reader.subscription.settle([taken[4]!])
    await reader.subscription.settle([taken[2]!])
    await until('all are committed', async () => (await committed()) === 5)
  })

  test('a partition that is full does not hold up the others', async t => {
    const kafka = await openCluster(t)
    const name = await kafka.createTopic({ partitions: 2 })
    await kafka.produce(
      name,
      Array.from({ length: 40 }, (_, index) => ({ value: `stuck${index}`, partition: 0 })),
    )
    const reader = await openReader(kafka, name, { open: { inFlightMax: 12 } })
    const stuck = await reader.take(5)
    assert.ok(stuck.every(({ partition }) => partition === `${name}/0`))
    const flown: string[] = []
    for (let round = 0; round < 20; round++) {
      await kafka.produce(name, [{ value: `flows${round}`, partition: 1 }])
      while (flown.length === round) {
        const [delivery] = await reader.take(1)
        if (delivery!.partition === `${name}/0`) stuck.push(delivery!)
        else {
          flown.push(delivery!.body.toString())
          await reader.subscription.settle([delivery!])
        }
      }
    }
    assert.deepEqual(flown, numbered(20, 'flows'))
    assert.ok(stuck.length < 12, 'one place is left for the others')
    await reader.subscription.settle(stuck)
    assert.equal((await reader.take(1))[0]!.body.toString(), `stuck${stuck.length}`)
  })

  test('settling before the effect resolves when the broker has confirmed it', async t => {
    const kafka = await openCluster(t)
    const name = await kafka.createTopic({ partitions: 3 })
    const group = randomName('group')
    await kafka.produce(
      name,
      numbered(9).map((value, index) => ({ value, partition: index % 3 })),
    )
    const reader = await openReader(kafka, name, { group, log: { progress: 'first' } })
    const taken = await reader.take(9)
    assert.deepEqual(await reader.subscription.settle(taken), { missed: 0 })
    assert.deepEqual([...(await kafka.committed(group, name)).values()], [3, 3, 3])
  })

  test("starts at the store's position, not the broker's, when the store keeps it", async t => {
    const kafka = await openCluster(t)
    const name = await kafka.createTopic({ partitions: 1 })
    const group = randomName('group')
    const checkpoints = new MemoryCheckpoints()
    await kafka.produce(name, numbered(10))
    const first = await openReader(kafka, name, { group, checkpoints, log: { progress: 'store' } })
    const taken = await first.take(10)
    await first.subscription.settle(taken)
    const { incarnation, epoch } = taken[0]!.place!
    await checkpoints.begin(`${name}/0`, epoch, { incarnation, next: '7' })
    await first.close()
    assert.equal((await kafka.committed(group, name)).get(0), 10, 'the hint is told at the end')
    const second = await openReader(kafka, name, { group, checkpoints, log: { progress: 'store' } })
    assert.deepEqual(texts(await second.take(3)), ['m7', 'm8', 'm9'])
  })

  test('refuses to guess where to begin', async t => {
    const kafka = await openCluster(t)
    const name = await kafka.createTopic()
    const declared = { group: randomName('group'), start: undefined as never }
    const reader = await openReader(kafka, name, declared)
    await assert.rejects(reader.subscription.receive(1), {
      code: 'configuration',
      message: /start: 'earliest'/,
    })
  })

  test('starts at the end, or at a time, if declared so', async t => {
    const kafka = await openCluster(t)
    const name = await kafka.createTopic()
    await kafka.produce(name, [
      { value: 'old', timestampMs: 1_000 },
      { value: 'newer', timestampMs: 2_000 },
    ])
    const latest = await openReader(kafka, name, { group: randomName('group'), start: 'latest' })
    await latest.untilOwns(1)
    const moment = await openReader(kafka, name, {
      group: randomName('group'),
      start: { timestampMs: 1_500 },
    })
    assert.deepEqual(texts(await moment.take(1)), ['newer'])
    await kafka.produce(name, ['newest'])
    assert.deepEqual(texts(await latest.take(1)), ['newest'])
  })

  test('a missing topic is refused at once', async t => {
    const kafka = await openCluster(t)
    await assert.rejects(openReader(kafka, randomName('missing')), {
      code: 'configuration',
      message: /Topic .* does not exist/,
    })
  })

  test('reports its lag', async t => {
    const kafka = await openCluster(t)
    const name = await kafka.createTopic()
    await kafka.produce(name, numbered(5))
    const reader = await openReader(kafka, name)
    const taken = await reader.take(5)
    const lag = () => reader.subscription.lag!()[0]!
    assert.equal(lag().behind, 5)
    await reader.subscription.settle(taken.slice(0, 3))
    assert.equal(lag().behind, 2)
    await reader.subscription.settle(taken.slice(3))
    assert.deepEqual(lag(), { partition: `${name}/0`, behind: 0, oldestMs: null })
  })
})
