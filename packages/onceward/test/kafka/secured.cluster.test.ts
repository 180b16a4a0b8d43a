import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { feed } from './feed.ts'
import { randomName } from './fixture.ts'
import { type KafkaCluster, login, replicated, startKafkaCluster } from './kafka-cluster.ts'
import { consume, openCluster, openReader } from './reader.ts'

describe('a Kafka cluster with TLS and logins', { timeout: 580_000, ...(await skipWithout('kafka')) }, () => {
  let cluster: KafkaCluster
  before(async () => {
    cluster = await startKafkaCluster({}, { secure: true })
  })
  after(() => cluster?.close())

  for (const protocol of ['classic', 'consumer'] as const)
    test(`the broker that coordinates is killed: the reader logs in at the others: ${protocol}`, async t => {
      const kafka = await openCluster(t, cluster.bootstrap)
      const name = await kafka.createTopic({ ...replicated, partitions: 3 })
      const group = randomName('group')
      const reader = await openReader(kafka, name, {
        ...{ group, protocol, sessionTimeoutMs: 10_000 },
        ...{ bootstrap: cluster.secured, tls: { ca: cluster.certificates!.ca }, sasl: login },
      })
      const seen = consume(reader)
      const { sent, stop } = feed(t, kafka, name)
      await until('it reads', () => seen.length > 20)
      const victim = await cluster.coordinatorOf(group)
      await cluster.kill(victim)
      const before = sent.length
      await until('it reads on', () => sent.length > before + 100 && seen.length >= sent.length - 5, {
        deadlineMs: 120_000,
      })
      await cluster.start(victim)
      await cluster.untilInSync(name)
      await stop()
      await until('everything came', () => new Set(seen).size === sent.length)
      assert.deepEqual(reader.checkpoints.losses, [])
    })
})
