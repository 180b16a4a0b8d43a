import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKafkaTransform } from '../../src/drivers/kafka/transform.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { openKafka, randomName } from './fixture.ts'
import { startKafkaProxy } from './kafka-proxy.ts'
import { keptLog } from './kept-log.ts'
import { startPrivateKafka } from './private-kafka.ts'

const endTransactionKey = 26
/** The producer repeats a commit for 30 s, then the transform asks again. */
const outageMs = 32_000

test(
  'a transform asks for the outcome of a commit until it is answered',
  await skipWithout('kafka'),
  async t => {
    const broker = await startPrivateKafka()
    t.after(() => broker.close())
    const kafka = await openKafka(t, broker.bootstrap)
    const proxy = await startKafkaProxy(t, broker.bootstrap)
    const [from, to] = [await kafka.createTopic(), await kafka.createTopic()]
    const values = Array.from({ length: 100 }, (_, index) => String(index))
    await kafka.produce(from, values)
    let commits = 0
    const isCut = Promise.withResolvers<void>()
    proxy.onRequest(apiKey => {
      if (apiKey !== endTransactionKey || ++commits !== 4) return
      proxy.deafen()
      isCut.resolve()
    })
    const group = randomName('group')
    const transform = createKafkaTransform({
      bootstrap: proxy.bootstrap,
      from,
      group,
      start: 'earliest',
      batchMax: 10,
      sessionTimeoutMs: 6_000,
      map: ({ value }) => [{ topic: to, value }],
      log: keptLog(t),
    })
    await transform.start()
    t.after(() => transform.drain().catch(() => {}))
    await isCut.promise
    // Some transactions began partitions, the others have ten records each.
    const before = transform.tally.records
    await until('the commit has happened', async () => (await kafka.read(to)).length === before + 10)
    proxy.refuse()
    proxy.cut()
    const sinceMs = performance.now()
    await until('the first repetition has ended', () => performance.now() - sinceMs > outageMs)
    proxy.listen()
    proxy.accept()
    await until('all is visible', async () => (await kafka.read(to)).length >= values.length)
    assert.deepEqual(
      (await kafka.read(to)).map(({ value }) => value),
      values,
    )
    await until('each record is counted', () => transform.tally.records === values.length)
    assert.equal(transform.tally.aborted, 0)
  },
)
