import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { randomName } from './fixture.ts'
import { startMember } from './member.ts'
import { type PrivateKafka, startPrivateKafka } from './private-kafka.ts'
import { consume, openCluster, openReader, texts } from './reader.ts'

const spread = (from: number, count: number, partitions: number) =>
  Array.from({ length: count }, (_, index) => ({
    value: `m${from + index}`,
    partition: (from + index) % partitions,
  }))

describe('a Kafka broker in trouble', await skipWithout('kafka'), () => {
  let broker: PrivateKafka
  before(async () => {
    broker = await startPrivateKafka({
      properties: {
        'group.consumer.min.session.timeout.ms': '6000',
        'group.consumer.session.timeout.ms': '6000',
        'group.consumer.min.heartbeat.interval.ms': '500',
        'group.consumer.heartbeat.interval.ms': '500',
      },
    })
  })
  after(() => broker.close())

  for (const protocol of ['classic', 'consumer'] as const) {
    test(`killed and restarted: reading continues automatically, nothing is lost, ${protocol}`, async t => {
      const kafka = await openCluster(t, broker.bootstrap)
      const name = await kafka.createTopic({ partitions: 2 })
      const group = randomName('group')
      const reader = await openReader(kafka, name, { group, protocol })
      const seen = consume(reader)
      await kafka.produce(name, spread(0, 20, 2))
      await until('the first have come', () => seen.length === 20)
      await until('and are committed', async () => (await kafka.committed(group, name)).get(1) === 10)
      await broker.kill()
      await until('people are told', () => reader.events.some(({ kind }) => kind === 'disconnected'))
      await broker.start()
      await kafka.produce(name, spread(20, 20, 2))
      await until('all have come', () => new Set(seen).size === 40)
      await until('and all is committed', async () => {
        const committed = await kafka.committed(group, name)
        return committed.get(0) === 20 && committed.get(1) === 20
      })
      assert.ok(reader.events.filter(({ kind }) => kind === 'connected').length >= 2, 'and that it is back')
      assert.deepEqual(reader.checkpoints.losses, [])
    })

    test(`frozen for longer than a session: unsettled deliveries are no longer live, and are redelivered, ${protocol}`, async t => {
      const kafka = await openCluster(t, broker.bootstrap)
      const name = await kafka.createTopic({ partitions: 1 })
      await kafka.produce(name, spread(0, 4, 1))
      const reader = await openReader(kafka, name, { protocol, sessionTimeoutMs: 6_000 })
      const held = await reader.take(4)
      broker.freeze()
      try {
        await until('the session is over', () => held.every(one => !reader.subscription.isLive(one)))
        assert.deepEqual(await reader.subscription.settle(held), { missed: 4 })
      } finally {
        broker.resume()
      }
      const again = await reader.take(4)
      assert.deepEqual(texts(again), texts(held))
      assert.ok(again.every(({ redelivered, place }) => redelivered && place!.epoch === 2))
    })
  }

  test('consumer protocol: a killed process is replaced after its session', async t => {
    const kafka = await openCluster(t, broker.bootstrap)
    const name = await kafka.createTopic({ partitions: 2 })
    const options = { group: randomName('group'), protocol: 'consumer', start: 'earliest' } as const
    const member = startMember(t, { bootstrap: kafka.bootstrap, topic: name, options, settles: true })
    await member.untilOwns(2)
    member.signal('SIGKILL')
    const survivor = await openReader(kafka, name, options)
    await survivor.untilOwns(2)
  })

  test('consumer protocol: a frozen process that wakes up settles and commits nothing', async t => {
    const kafka = await openCluster(t, broker.bootstrap)
    const name = await kafka.createTopic({ partitions: 1 })
    const options = {
      group: randomName('group'),
      protocol: 'consumer',
      sessionTimeoutMs: 6_000,
      start: 'earliest',
    } as const
    await kafka.produce(name, spread(0, 10, 1))
    const frozen = startMember(t, { bootstrap: kafka.bootstrap, topic: name, options, settles: false })
    await frozen.untilGot(10)
    frozen.signal('SIGSTOP')
    const other = await openReader(kafka, name, options)
    const taken = await other.take(10)
    await other.subscription.settle(taken.slice(0, 3))
    const committed = async () => (await kafka.committed(options.group, name)).get(0)
    await until('the new owner has committed', async () => (await committed()) === 3)
    frozen.ask('look')
    frozen.signal('SIGCONT')
    await until('it has looked', () => frozen.lines.some(({ kind }) => kind === 'looked'))
    const looked = frozen.lines.find(({ kind }) => kind === 'looked')
    assert.deepEqual(looked, { kind: 'looked', live: 0, missed: 10, held: 10 })
    assert.equal(await committed(), 3)
  })

  test('unavailable when the consumer starts: it waits and starts automatically', async t => {
    const kafka = await openCluster(t, broker.bootstrap)
    const name = await kafka.createTopic({ partitions: 1 })
    await kafka.produce(name, ['waiting'])
    await broker.kill()
    const opening = openReader(kafka, name, { checkpoints: new MemoryCheckpoints() })
    await broker.start()
    assert.deepEqual(texts(await (await opening).take(1)), ['waiting'])
  })
})
