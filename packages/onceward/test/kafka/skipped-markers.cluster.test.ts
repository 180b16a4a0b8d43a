import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { KafkaConnections } from '../../src/drivers/kafka/client/connections.ts'
import { TransactionalProducer } from '../../src/drivers/kafka/client/transactions.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { randomName } from './fixture.ts'
import { type KafkaCluster, startKafkaCluster } from './kafka-cluster.ts'
import { openCluster } from './reader.ts'

const out = (topic: string, value: string) => ({
  topic,
  partition: 0,
  key: null,
  value: Buffer.from(value),
  headers: [],
  timestampMs: Date.now(),
})

const options = { timeout: 900_000, ...(await skipWithout('kafka')) }

describe('a transaction that ends while its partition has no leader', options, () => {
  let cluster: KafkaCluster
  before(async () => {
    cluster = await startKafkaCluster({ 'offsets.topic.replication.factor': '1' })
  })
  after(() => cluster?.close())

  /** A topic with one replica, and a producer whose coordinator is another broker. */
  const setUp = async (t: TestContext) => {
    const kafka = await openCluster(t, cluster.bootstrap)
    const topic = await kafka.createTopic()
    const node = await cluster.leaderOf(topic, 0)
    const connections = new KafkaConnections({ bootstrap: cluster.bootstrap })
    t.after(() => connections.close())
    let transactionalId = randomName('tx')
    while ((await connections.coordinator('transaction', transactionalId)).id === node)
      transactionalId = randomName('tx')
    const producer = new TransactionalProducer(connections, {
      transactionalId,
      transactionTimeoutMs: 600_000,
      deliveryTimeoutMs: 300_000,
    })
    await producer.start()
    const leaderIs = (wanted: number) =>
      until(
        `the leader is ${wanted}`,
        async () => (await kafka.connections.findTopic(topic))?.partitions[0]?.leader === wanted,
        { deadlineMs: 300_000 },
      )
    const whileAway = async (act: () => Promise<void>) => {
      await cluster.stop(node)
      await leaderIs(-1)
      await act()
      await cluster.start(node)
      await leaderIs(node)
    }
    /** A group whose offsets are on the same broker, and only there. */
    let group = randomName('group')
    while ((await connections.coordinator('group', group)).id !== node) group = randomName('group')
    const values = async () => (await kafka.read(topic)).map(({ value }) => value)
    const send = (value: string) => producer.send([out(topic, value)])
    const committed = async () => (await kafka.committed(group, topic)).get(0)
    return { producer, send, values, whileAway, topic, group, committed }
  }

  test('stays committed although the next one is aborted', async t => {
    const { producer, send, values, whileAway } = await setUp(t)
    await send('first')
    await whileAway(() => producer.commit())
    await send('aborted')
    await producer.abort()
    await send('last')
    await producer.commit()
    await until('the last is visible', async () => (await values()).includes('last'))
    assert.deepEqual(await values(), ['first', 'last'])
  })

  test('stays aborted although the next one is committed', async t => {
    const { producer, send, values, whileAway } = await setUp(t)
    await send('first')
    await producer.commit()
    await send('aborted')
    await whileAway(() => producer.abort())
    await send('last')
    await producer.commit()
    await until('the last is visible', async () => (await values()).includes('last'))
    assert.deepEqual(await values(), ['first', 'last'])
  })

  for (const end of ['commit', 'abort'] as const) {
    test(`keeps its ${end} of records and offsets although the offsets of the next one are refused`, async t => {
      const { producer, send, values, whileAway, topic, group, committed } = await setUp(t)
      const anonymous = { groupId: group, generation: -1, memberId: '', instanceId: null }
      const gone = { ...anonymous, generation: 7, memberId: 'gone' }
      const offsets = (next: bigint) => [{ topic, partition: 0, next, leaderEpoch: -1, metadata: '' }]
      await send('before')
      await producer.sendOffsets(anonymous, offsets(1n))
      await producer[end]()
      await send('first')
      await producer.sendOffsets(anonymous, offsets(2n))
      await whileAway(() => producer[end]())
      await send('refused')
      await assert.rejects(producer.sendOffsets(gone, offsets(3n)), { code: 'ownership_lost' })
      await producer.abort()
      await send('last')
      await producer.commit()
      await until('the last is visible', async () => (await values()).includes('last'))
      assert.deepEqual(await values(), end === 'commit' ? ['before', 'first', 'last'] : ['last'])
      assert.equal(await committed(), end === 'commit' ? 2 : undefined)
    })
  }
})
