import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { KafkaRangeReader } from '../../src/drivers/kafka/kafka-range-reader.ts'
import { skipWithout } from '../services/services.ts'
import { openKafka } from './fixture.ts'
import { startKafkaProxy } from './kafka-proxy.ts'

const offsetOutOfRange = 1

async function setUp(t: TestContext) {
  const kafka = await openKafka(t)
  const name = await kafka.createTopic()
  await kafka.produce(name, ['a', 'b', 'c'])
  const proxy = await startKafkaProxy(t, kafka.bootstrap)
  const { bootstrap } = proxy
  const reader = new KafkaRangeReader({ topic: name, isolation: 'committed', group: name, bootstrap })
  t.after(() => reader.close())
  const { id } = await kafka.connections.describeTopic(name)
  return {
    kafka,
    name,
    proxy,
    id,
    read: (next: string) => reader.read(`${name}/0`, { incarnation: id, next }),
  }
}

describe('the reader of a campaign', await skipWithout('kafka'), () => {
  test('asks again when a leader says once that it has no such offset', async t => {
    const { proxy, id, read } = await setUp(t)
    proxy.failFetches(id, offsetOutOfRange, 2)
    const page = await read('1')
    assert.equal(page.kind, 'records')
    assert.deepEqual(page.kind === 'records' && page.records.map(({ at }) => at), ['1', '2'])
  })

  test('takes it for lost when leaders say so for long, or when the log begins later', async t => {
    const { kafka, name, proxy, id, read } = await setUp(t)
    proxy.failFetches(id, offsetOutOfRange)
    assert.equal((await read('1')).kind, 'lost')
    proxy.listen()
    await kafka.deleteRecords(name, 0, 2)
    assert.equal((await read('1')).kind, 'lost')
  })
})
