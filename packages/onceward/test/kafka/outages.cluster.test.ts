import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { feed, longestSilence } from './feed.ts'
import { randomName } from './fixture.ts'
import { type KafkaCluster, replicated, startKafkaCluster } from './kafka-cluster.ts'
import { consume, numbered, openCluster, openReader, texts } from './reader.ts'

const protocols = ['classic', 'consumer'] as const

describe('a Kafka cluster in trouble', { timeout: 580_000, ...(await skipWithout('kafka')) }, () => {
  let cluster: KafkaCluster
  before(async () => {
    cluster = await startKafkaCluster()
  })
  after(() => cluster?.close())

  for (const protocol of protocols) {
    test(`a frozen leader and coordinator is reported as stalled and left once the cluster has elected others: ${protocol}`, async t => {
      const kafka = await openCluster(t, cluster.bootstrap)
      const name = await kafka.createTopic({ ...replicated, partitions: 3 })
      const group = randomName('group')
      const reader = await openReader(kafka, name, { group, protocol, sessionTimeoutMs: 10_000 })
      const seen = consume(reader)
      const { sent, stop } = feed(t, kafka, name)
      await until('it reads', () => seen.length > 20)
      assert.equal(reader.subscription.stalled!(), null)
      const victim = await cluster.coordinatorOf(group)
      const silence = longestSilence(() => seen.length)
      const electing = longestSilence(() => sent.length)
      let stalledMs = 0
      const looking = setInterval(() => {
        stalledMs = Math.max(stalledMs, reader.subscription.stalled!()?.forMs ?? 0)
      }, 50)
      cluster.freeze(victim)
      const before = sent.length
      await until('it reads on', () => sent.length > before + 100 && seen.length >= sent.length - 5, {
        deadlineMs: 120_000,
      })
      const [silentMs, allowedMs] = [silence(), electing() + 5_000]
      clearInterval(looking)
      t.diagnostic(`silent ${silentMs} ms of ${allowedMs} ms, stalled ${Math.round(stalledMs)} ms`)
      await until('it is not stalled any more', () => reader.subscription.stalled!() === null)
      cluster.resume(victim)
      await cluster.untilInSync(name)
      await stop()
      await until('everything came', () => new Set(seen).size === sent.length)
      assert.ok(stalledMs > 3_000, `stalled for ${stalledMs} ms`)
      assert.ok(silentMs < allowedMs, `nothing came for ${silentMs} ms of ${allowedMs} ms`)
      assert.deepEqual(reader.checkpoints.losses, [])
    })

    test(`two of three brokers die, and the quorum with them: all records are read once they return: ${protocol}`, async t => {
      const kafka = await openCluster(t, cluster.bootstrap)
      const name = await kafka.createTopic({ ...replicated, partitions: 3 })
      const reader = await openReader(kafka, name, { protocol, sessionTimeoutMs: 10_000 })
      const seen = consume(reader)
      await kafka.produce(
        name,
        numbered(300).map((value, index) => ({ value, partition: index % 3 })),
      )
      await until('it reads', () => seen.length > 20)
      await Promise.all([cluster.kill(2), cluster.kill(3)])
      const downMs = performance.now()
      await until('longer than a session', () => performance.now() - downMs > 12_000)
      await Promise.all([cluster.start(2), cluster.start(3)])
      await cluster.untilInSync(name)
      await kafka.produce(
        name,
        numbered(300, 'later').map((value, index) => ({ value, partition: index % 3 })),
      )
      await until('everything came', () => new Set(seen).size === 600, { deadlineMs: 120_000 })
      assert.deepEqual(reader.checkpoints.losses, [])
    })
  }

  test('an unclean election is refused: the reader waits for the leader that has all records, and loses none', async t => {
    const kafka = await openCluster(t, cluster.bootstrap)
    const configs = { 'min.insync.replicas': '1', 'unclean.leader.election.enable': 'false' }
    const name = await kafka.createTopic({ replicas: 2, configs, partitions: 1 })
    const declared = { group: randomName('group'), checkpoints: new MemoryCheckpoints() }
    const seen = consume(await openReader(kafka, name, declared))
    await kafka.produce(name, numbered(10))
    await until('ten are read', () => seen.length === 10)
    await cluster.untilInSync(name, 2)
    const [leader, follower] = await cluster.replicasOf(name, 0)
    await cluster.kill(follower!)
    await kafka.produce(name, numbered(10, 'only the leader has '))
    await until('twenty are read', () => seen.length === 20)
    await until('and committed', async () => (await kafka.committed(declared.group, name)).get(0) === 20)
    await cluster.kill(leader!)
    await cluster.start(follower!)
    await until('the follower is back, and does not lead', async () => {
      const registered = await cluster.connections.brokers().catch(() => [])
      return registered.length === 2 && (await cluster.leaderOf(name, 0).catch(() => 0)) === -1
    })
    assert.deepEqual(declared.checkpoints.losses, [])
    await cluster.start(leader!)
    await cluster.untilInSync(name, 2)
    await kafka.produce(name, numbered(10, 'later '))
    await until('everything came', () => new Set(seen).size === 30, { deadlineMs: 120_000 })
    assert.equal(seen.length, 30)
    assert.deepEqual(declared.checkpoints.losses, [])
  })

  test('an unclean election that loses read records is declared, with the position', async t => {
    const kafka = await openCluster(t, cluster.bootstrap)
    const configs = { 'min.insync.replicas': '1', 'unclean.leader.election.enable': 'true' }
    const name = await kafka.createTopic({ replicas: 2, configs, partitions: 1 })
    const declared = { group: randomName('group'), checkpoints: new MemoryCheckpoints() }
    const { subscription } = await openReader(kafka, name, declared)
    const seen: string[] = []
    const reading = (async () => {
      for (;;) {
        const deliveries = await subscription.receive(100)
        seen.push(...texts(deliveries))
        await subscription.settle(deliveries)
      }
    })()
    const halted = assert.rejects(reading, { code: 'records_lost', message: /ends at 10|truncated/ })
    await kafka.produce(name, numbered(10))
    await until('ten are read', () => seen.length === 10)
    await cluster.untilInSync(name, 2)
    const [leader, follower] = await cluster.replicasOf(name, 0)
    await cluster.kill(follower!)
    await kafka.produce(name, numbered(10, 'only the leader has '))
    await until('twenty are read', () => seen.length === 20)
    await until('and committed', async () => (await kafka.committed(declared.group, name)).get(0) === 20)
    await cluster.kill(leader!)
    await cluster.start(follower!)
    const { losses } = declared.checkpoints
    await until('the loss is declared', () => losses.length > 0, { deadlineMs: 120_000 })
    assert.equal(losses[0]!.from.next, '20')
    await halted
    await cluster.start(leader!)
    await cluster.untilInSync(name, 2)
  })
})
