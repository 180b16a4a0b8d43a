import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Admin } from '@platformatic/kafka'
import { MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { randomName, type TestKafka } from './fixture.ts'
import { type Cluster, numbered, openCluster, openReader, type ReaderOptions, texts } from './reader.ts'

/** Twenty records, ten of them settled by a member that has left. */
async function halfRead(kafka: Cluster, options: ReaderOptions = {}) {
  const name = await kafka.createTopic({ partitions: 1 })
  const declared = { group: randomName('group'), checkpoints: new MemoryCheckpoints(), ...options }
  await kafka.produce(name, numbered(20))
  const reader = await openReader(kafka, name, declared)
  const taken = await reader.take(20)
  await reader.subscription.settle(taken.slice(0, 10))
  await reader.close()
  return { name, declared, group: declared.group, checkpoints: declared.checkpoints }
}

describe('records a Kafka topic no longer has', await skipWithout('kafka'), () => {
  test('deleted before they were read: counted, declared, and skipped only when accepted', async t => {
    const kafka = await openCluster(t)
    const { name, declared, group, checkpoints } = await halfRead(kafka)
    await kafka.deleteRecords(name, 0, 15)
    const reader = await openReader(kafka, name, declared)
    await assert.rejects(reader.subscription.receive(1), {
      code: 'records_lost',
      message: /At most 5 records/,
    })
    await reader.close()
    assert.equal((await kafka.committed(group, name)).get(0), 10, 'nothing was committed')
    const [loss] = checkpoints.losses
    assert.deepEqual([loss!.from.next, loss!.to!.next, loss!.records], ['10', '15', 5])

    checkpoints.acceptLoss(`${name}/0`)
    const again = await openReader(kafka, name, declared)
    assert.deepEqual(texts(await again.take(5)), numbered(20).slice(15))
    assert.equal((await kafka.committed(group, name)).get(0), 15, 'the broker knows where it went on')
    assert.equal(checkpoints.stored(`${name}/0`)!.next, '15')
  })

  test('deleted under a running member', async t => {
    const kafka = await openCluster(t)
    const name = await kafka.createTopic({ partitions: 1 })
    const big = 'x'.repeat(100_000)
    await kafka.produce(
      name,
      Array.from({ length: 60 }, () => big),
    )
    const reader = await openReader(kafka, name, { open: { inFlightMax: 1 } })
    const [first] = await reader.take(1)
    await kafka.deleteRecords(name, 0, 55)
    await reader.subscription.settle([first!])
    await assert.rejects(
      async () => {
        for (;;) await reader.subscription.settle(await reader.take(1))
      },
      { code: 'records_lost', message: /begins at 55/ },
    )
    assert.equal(reader.checkpoints.losses.length, 1)
  })

  test('a committed position past the end of the log', async t => {
    const kafka = await openCluster(t)
    const { name, declared, group } = await halfRead(kafka)
    await commitFromOutside(kafka, group, name, 1_000)
    const reader = await openReader(kafka, name, declared)
    await assert.rejects(reader.subscription.receive(1), { code: 'records_lost', message: /ends at 20/ })
  })

  for (const progress of ['store', 'only'] as const) {
    test(`a truncated log that grows: no new record is skipped, with progress ${progress}`, async t => {
      const kafka = await openCluster(t)
      const { name, declared, group, checkpoints } = await halfRead(kafka, { log: { progress } })
      const { id } = await kafka.connections.describeTopic(name)
      await deleteOffsets(kafka, group, name)
      await checkpoints.begin(`${name}/0`, 1, { incarnation: id, next: '60' })
      const lose = async (message: RegExp) => {
        const { subscription, close } = await openReader(kafka, name, declared)
        await assert.rejects(subscription.receive(1), { code: 'records_lost', message })
        await close()
      }
      await lose(/ends at 20/)
      await kafka.produce(name, numbered(20))
      await lose(/ends at 40/)
      await kafka.produce(name, numbered(40))
      await lose(/has grown past it since/)
      const [one, two, three] = checkpoints.losses.map(({ to }) => to)
      assert.deepEqual([two, three], [one, one])
      assert.equal(one!.next, progress === 'only' ? '20' : '0')

      checkpoints.acceptLoss(`${name}/0`)
      const reader = await openReader(kafka, name, declared)
      const all = [...numbered(20), ...numbered(20), ...numbered(40)]
      assert.deepEqual(texts(await reader.take(60)), all.slice(Number(one!.next)).slice(0, 60))
    })
  }

  test('a topic that was created again, seen at the next start', async t => {
    const kafka = await openCluster(t)
    const { name, declared, checkpoints } = await halfRead(kafka)
    const { id } = await kafka.connections.describeTopic(name)
    await kafka.recreateTopic(name, { partitions: 1 })
    await kafka.produce(name, ['new'])
    const reader = await openReader(kafka, name, declared)
    await assert.rejects(reader.subscription.receive(1), { code: 'records_lost', message: /created again/ })
    await reader.close()
    assert.equal(checkpoints.losses[0]!.from.incarnation, id)
    checkpoints.acceptLoss(`${name}/0`)
    const again = await openReader(kafka, name, declared)
    assert.deepEqual(texts(await again.take(1)), ['new'])
  })

  for (const protocol of ['classic', 'consumer'] as const) {
    test(`a topic that was created again under a running member, ${protocol}`, async t => {
      const kafka = await openCluster(t)
      const name = await kafka.createTopic({ partitions: 1 })
      await kafka.produce(name, ['old'])
      const reader = await openReader(kafka, name, { protocol })
      await reader.subscription.settle(await reader.take(1))
      await kafka.recreateTopic(name, { partitions: 1 })
      await kafka.produce(name, ['new'])
      await assert.rejects(reader.subscription.receive(1), { code: 'records_lost', message: /created again/ })
    })
  }

  test("a group's offsets that were deleted or expired", async t => {
    const kafka = await openCluster(t)
    const { name, declared, group } = await halfRead(kafka)
    await deleteOffsets(kafka, group, name)
    const reader = await openReader(kafka, name, declared)
    await assert.rejects(reader.subscription.receive(1), {
      code: 'records_lost',
      message: /no longer has a position of this group/,
    })
  })

  test('deleted offsets are no loss where the store keeps the position', async t => {
    const kafka = await openCluster(t)
    const { name, declared, group, checkpoints } = await halfRead(kafka, { log: { progress: 'store' } })
    const { id } = await kafka.connections.describeTopic(name)
    await checkpoints.begin(`${name}/0`, 1, { incarnation: id, next: '10' })
    await deleteOffsets(kafka, group, name)
    const reader = await openReader(kafka, name, declared)
    assert.deepEqual(texts(await reader.take(10)), numbered(20).slice(10))
  })

  test('a log that another leader rewrote: the epoch of the read records is not in it', async t => {
    const kafka = await openCluster(t)
    const { name, declared, group } = await halfRead(kafka)
    await commitFromOutside(kafka, group, name, 10, 7)
    const reader = await openReader(kafka, name, declared)
    await assert.rejects(reader.subscription.receive(1), { code: 'records_lost', message: /truncated/ })
  })

  test('a deleted topic is reported, and waited for', async t => {
    const kafka = await openCluster(t)
    const name = await kafka.createTopic({ partitions: 1 })
    await kafka.produce(name, ['old'])
    const reader = await openReader(kafka, name)
    await reader.subscription.settle(await reader.take(1))
    await kafka.deleteTopic(name)
    await until('people are told', () => reader.events.some(({ kind }) => kind === 'cancelled'))
  })
})

async function commitFromOutside(
  kafka: TestKafka,
  group: string,
  name: string,
  offset: number,
  leaderEpoch = -1,
): Promise<void> {
  const { offsetCommitV9 } = await import('@platformatic/kafka')
  const partition = {
    partitionIndex: 0,
    committedOffset: BigInt(offset),
    committedLeaderEpoch: leaderEpoch,
    committedMetadata: '',
  }
  await kafka.connections.atCoordinator('group', group, 'commit', connection =>
    offsetCommitV9.api.async(connection, group, -1, '', null, [{ name, partitions: [partition] }]),
  )
}

async function deleteOffsets(kafka: TestKafka, group: string, name: string): Promise<void> {
  const admin = new Admin({ clientId: 'test', bootstrapBrokers: kafka.bootstrap.split(',') })
  try {
    await admin.deleteConsumerGroupOffsets({ groupId: group, topics: [{ name, partitionIndexes: [0] }] })
  } finally {
    await admin.close()
  }
}
