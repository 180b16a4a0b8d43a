import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { createKafkaTransform } from '../../src/sources/kafka/transform.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { openKafka, randomName, type TestKafka } from './fixture.ts'
import { type KafkaCluster, replicated, startKafkaCluster } from './kafka-cluster.ts'
import { consume, openCluster, openReader } from './reader.ts'

const ways = (['classic', 'consumer'] as const).flatMap(protocol =>
  [false, true].map(isStatic => ({ protocol, isStatic })),
)
const nameOf = ({ protocol, isStatic }: (typeof ways)[number]) =>
  `${protocol}${isStatic ? ', static member' : ''}`

/** One record after the other, each confirmed, until the test ends. Its topic must outlive it. */
function feed(t: TestContext, kafka: TestKafka, topic: string): string[] {
  const sent: string[] = []
  let isOver = false
  const running = (async () => {
    while (!isOver) {
      const value = String(sent.length)
      await kafka.produce(topic, [{ value, partition: sent.length % 3 }])
      sent.push(value)
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  })()
  running.catch(() => {})
  t.after(async () => {
    isOver = true
    await running.catch(() => {})
  })
  return sent
}

/** The longest time in which nothing came, while it is watched. */
function longestSilence(count: () => number) {
  let [seen, sinceMs, longestMs] = [count(), performance.now(), 0]
  const timer = setInterval(() => {
    const now = count()
    longestMs = Math.max(longestMs, performance.now() - sinceMs)
    if (now !== seen) [seen, sinceMs] = [now, performance.now()]
  }, 20)
  return () => {
    clearInterval(timer)
    return Math.round(longestMs)
  }
}

describe('a group whose coordinator dies', {
  timeout: 580_000,
  ...(await skipWithout('kafka')),
}, () => {
  let cluster: KafkaCluster
  before(async () => {
    cluster = await startKafkaCluster()
  })
  after(() => cluster?.close())

  for (const way of ways) {
    test(`a consumer reads on within seconds, each time: ${nameOf(way)}`, async t => {
      const kafka = await openCluster(t, cluster.bootstrap)
      const name = await kafka.createTopic({ ...replicated, partitions: 3 })
      const group = randomName('group')
      const reader = await openReader(kafka, name, {
        group,
        protocol: way.protocol,
        sessionTimeoutMs: 10_000,
        ...(way.isStatic && { instance: 'one' }),
      })
      const seen = consume(reader)
      const sent = feed(t, kafka, name)
      await until('it reads', () => seen.length > 20)
      for (let round = 0; round < 3; round++) {
        const victim = await cluster.coordinatorOf(group)
        const silence = longestSilence(() => seen.length)
        await cluster.kill(victim)
        const before = sent.length
        await until('it reads on', () => sent.length > before + 100 && seen.length >= sent.length - 5, {
          deadlineMs: 200_000,
        })
        await cluster.start(victim)
        await cluster.untilInSync(name)
        const silentMs = silence()
        console.error(`${t.name}: round ${round}: ${silentMs} ms`)
        assert.ok(silentMs < 15_000, `nothing came for ${silentMs} ms`)
      }
      assert.deepEqual(reader.checkpoints.losses, [])
    })

    test(`a transform writes on within seconds, each time: ${nameOf(way)}`, async t => {
      const kafka = await openKafka(t, cluster.bootstrap)
      const name = await kafka.createTopic({ ...replicated, partitions: 3 })
      const output = await kafka.createTopic(replicated)
      const group = randomName('group')
      const transform = createKafkaTransform({
        bootstrap: cluster.bootstrap,
        from: name,
        group,
        start: 'earliest',
        protocol: way.protocol,
        sessionTimeoutMs: 10_000,
        map: ({ value }) => [{ topic: output, value }],
        ...(way.isStatic && { instance: 'one' }),
      })
      await transform.start()
      // The topics go first when the test ends.
      t.after(() => transform.drain().catch(() => {}))
      const sent = feed(t, kafka, name)
      await until('it writes', () => transform.tally.records > 20)
      for (let round = 0; round < 3; round++) {
        const victim = await cluster.coordinatorOf(group)
        const silence = longestSilence(() => transform.tally.records)
        await cluster.kill(victim)
        const before = sent.length
        await until(
          'it writes on',
          () => sent.length > before + 100 && transform.tally.records >= sent.length - 50,
          { deadlineMs: 200_000 },
        )
        await cluster.start(victim)
        await cluster.untilInSync(name)
        const silentMs = silence()
        console.error(`${t.name}: round ${round}: ${silentMs} ms`)
        assert.ok(silentMs < 20_000, `nothing was written for ${silentMs} ms`)
      }
    })
  }
})
