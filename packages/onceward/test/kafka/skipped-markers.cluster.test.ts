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
    cluster = await startKafkaCluster()
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
    const values = async () => (await kafka.read(topic)).map(({ value }) => value)
    const send = (value: string) => producer.send([out(topic, value)])
    return { producer, send, values, whileAway }
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
})
