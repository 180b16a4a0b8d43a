import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { createKafkaTransform } from '../../src/drivers/kafka/transform.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { feed, longestSilence } from './feed.ts'
import { randomName } from './fixture.ts'
import { type KafkaCluster, replicated, startKafkaCluster } from './kafka-cluster.ts'
import { type Cluster, consume, openCluster, openReader } from './reader.ts'

const ways = (['classic', 'consumer'] as const).flatMap(protocol =>
  [false, true].map(isStatic => ({ protocol, isStatic })),
)
type Way = (typeof ways)[number]

/**
 * Members of the consumer protocol give up their partitions after their own time-out, while the broker keeps
 * their session. One that joined anew had to wait for its end, which is far beyond what a loaded machine takes.
 */
const sessionTimeoutMs = 6_000
const sessionAtBrokerMs = 45_000
const slackMs = 20_000

/** Somebody who reads the topic: in a group of its own, by one of the ways. */
interface Reading {
  readonly name: string
  readonly done: () => number
  readonly check: () => Promise<void>
}

const declared = ({ protocol, isStatic }: Way, group: string) => ({
  group,
  protocol,
  sessionTimeoutMs,
  ...(isStatic && { instance: 'one' }),
})

async function startConsumer(kafka: Cluster, topic: string, way: Way): Promise<Reading> {
  const reader = await openReader(kafka, topic, declared(way, randomName('group')))
  const seen = consume(reader)
  return {
    name: `consumer, ${way.protocol}${way.isStatic ? ', static' : ''}`,
    done: () => seen.length,
    check: async () => assert.deepEqual(reader.checkpoints.losses, []),
  }
}

async function startTransform(t: TestContext, kafka: Cluster, topic: string, way: Way): Promise<Reading> {
  const output = await kafka.createTopic(replicated)
  const transform = createKafkaTransform({
    bootstrap: kafka.bootstrap,
    from: topic,
    start: 'earliest',
    map: ({ value }) => [{ topic: output, value }],
    ...declared(way, randomName('group')),
  })
  await transform.start()
  let halted: unknown = null
  transform.finished.catch(error => {
    halted = error
  })
  t.after(() => transform.drain().catch(() => {}))
  return {
    name: `transform, ${way.protocol}${way.isStatic ? ', static' : ''}`,
    done: () => transform.tally.records,
    check: async () => {
      if (halted !== null) throw halted
      const written = (await kafka.read(output)).map(({ value }) => value)
      assert.equal(new Set(written).size, written.length, 'nothing was written twice')
    },
  }
}

describe('groups whose coordinators are killed', {
  timeout: 580_000,
  ...(await skipWithout('kafka')),
}, () => {
  let cluster: KafkaCluster
  before(async () => {
    cluster = await startKafkaCluster({ 'group.consumer.session.timeout.ms': String(sessionAtBrokerMs) })
  })
  after(() => cluster?.close())

  test('every protocol continues within seconds, for each killed broker', async t => {
    const kafka = await openCluster(t, cluster.bootstrap)
    const topic = await kafka.createTopic({ ...replicated, partitions: 3 })
    const readings = [
      ...(await Promise.all(ways.map(way => startConsumer(kafka, topic, way)))),
      ...(await Promise.all(ways.map(way => startTransform(t, kafka, topic, way)))),
    ]
    const { sent, stop } = feed(t, kafka, topic)
    const haveRead = (count: number) => readings.every(({ done }) => done() >= count)
    await until('all read', () => haveRead(20))
    const slow: string[] = []
    for (const victim of [1, 2, 3]) {
      const silences = readings.map(({ done }) => longestSilence(done))
      const electing = longestSilence(() => sent.length)
      await cluster.kill(victim)
      const goal = sent.length + 100
      await until('all read on', () => sent.length > goal && haveRead(goal), { deadlineMs: 150_000 })
      const silentMs = silences.map(silence => silence())
      // As long as the cluster needs to elect other leaders nobody can write either.
      const allowedMs = electing() + slackMs
      readings.forEach(({ name }, index) => {
        const took = `broker ${victim}, ${name}: ${silentMs[index]} ms of ${allowedMs} ms`
        t.diagnostic(took)
        if (silentMs[index]! > allowedMs) slow.push(took)
      })
      await cluster.start(victim)
      await cluster.untilInSync(topic)
    }
    await stop()
    await until('all have read everything', () => haveRead(sent.length), { deadlineMs: 120_000 })
    for (const { check } of readings) await check()
    assert.deepEqual(slow, [], 'these needed much longer than the cluster')
  })
})
