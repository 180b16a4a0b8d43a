import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { fetchRecords } from '../../src/drivers/kafka/fetch-response.ts'
import { decodeRecordSet } from '../../src/drivers/kafka/record-set.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { randomName, type TestKafka, type TestTransaction } from './fixture.ts'
import { openCluster, openReader, texts } from './reader.ts'

/** Reproducible, as every schedule here has to be. */
function random(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1103515245 + 12345) & 0x7fffffff
    return state / 0x7fffffff
  }
}

/**
 * Two transactional producers and a plain one write in between each other; about half of the transactions are
 * aborted.
 */
async function interleave(kafka: TestKafka, name: string): Promise<string[]> {
  const next = random(7)
  const open = new Map<TestTransaction, string[]>()
  const producers = [await kafka.transaction(name), await kafka.transaction(name)]
  const fate = new Map<string, boolean>()
  const order: string[] = []
  const end = async (producer: TestTransaction, commits: boolean) => {
    for (const value of open.get(producer) ?? []) fate.set(value, commits)
    open.delete(producer)
    await (commits ? producer.commit() : producer.abort())
  }
  for (let step = 0; step < 120; step++) {
    const producer = producers[next() < 0.5 ? 0 : 1]!
    const value = `${producers.indexOf(producer)}.${step}`
    if (next() < 0.15) {
      await kafka.produce(name, [`plain.${step}`])
      order.push(`plain.${step}`)
      fate.set(`plain.${step}`, true)
    } else if (next() < 0.35 && open.has(producer)) await end(producer, next() < 0.5)
    else {
      await producer.send(value)
      order.push(value)
      open.set(producer, [...(open.get(producer) ?? []), value])
    }
  }
  for (const producer of open.keys()) await end(producer, false)
  await kafka.produce(name, ['END'])
  await endOf(kafka, name)
  return [...order.filter(value => fate.get(value) === true), 'END']
}

/** Where the log ends once every transaction in it has: an abort is answered before its marker is written. */
async function endOf(kafka: TestKafka, name: string): Promise<number> {
  let end = -1
  await until('no transaction is open', async () => {
    end = await kafka.endOffset(name, 0, 'uncommitted')
    return (await kafka.endOffset(name, 0)) === end
  })
  return end
}

async function readInBytes(kafka: TestKafka, name: string, bytesMax: number): Promise<string[]> {
  const { id, partitions } = await kafka.connections.describeTopic(name)
  const connection = await kafka.connections.connect('fetch', partitions[0]!.leader)
  const values: string[] = []
  for (let from = 0; values.at(-1) !== 'END'; ) {
    const answer = await fetchRecords(connection, {
      maxWaitMs: 100,
      bytesMax,
      isolation: 'committed',
      topicId: id,
      partitions: [
        {
          partition: 0,
          currentLeaderEpoch: -1,
          fetchOffset: BigInt(from),
          lastFetchedEpoch: -1,
          partitionMaxBytes: bytesMax,
        },
      ],
    })
    const { records, aborted, errorCode } = answer.partitions[0]!
    assert.equal(errorCode, 0)
    const set = decodeRecordSet(records, { from, isolation: 'committed', aborted, bytesMax: 1 << 30 })
    values.push(...set.records.map(({ value }) => String(value)))
    assert.ok(set.next > from, `no progress at ${from}`)
    from = set.next
  }
  return values
}

async function abortedTopic(t: TestContext) {
  const kafka = await openCluster(t)
  const name = await kafka.createTopic({ partitions: 1 })
  const visible = await interleave(kafka, name)
  return { kafka, name, visible }
}

describe('reading committed records', await skipWithout('kafka'), () => {
  test('is exact at every fetch size, down to one byte', async t => {
    const { kafka, name, visible } = await abortedTopic(t)
    const everything = await kafka.read(name, 'uncommitted')
    assert.ok(everything.length > visible.length + 20, 'there are aborted records to leave out')
    for (const bytesMax of [1 << 20, 2_000, 500, 150, 1]) {
      assert.deepEqual(await readInBytes(kafka, name, bytesMax), visible, `${bytesMax} bytes`)
    }
  })

  test('commits past markers, so that no lag is left behind', async t => {
    const { kafka, name, visible } = await abortedTopic(t)
    const group = randomName('group')
    const producer = await kafka.transaction(name)
    await producer.send('gone')
    await producer.abort()
    const reader = await openReader(kafka, name, { group })
    const taken = await reader.take(visible.length)
    assert.deepEqual(texts(taken), visible)
    await reader.subscription.settle(taken)
    const end = await endOf(kafka, name)
    await until('the end is committed', async () => (await kafka.committed(group, name)).get(0) === end)
    assert.equal(reader.subscription.lag!()[0]!.behind, 0)
    await producer.send('gone too')
    await producer.abort()
    const further = await endOf(kafka, name)
    await until('and the end after it', async () => (await kafka.committed(group, name)).get(0) === further)
  })

  test('waits behind an open transaction, and delivers its records when it commits', async t => {
    const kafka = await openCluster(t)
    const name = await kafka.createTopic({ partitions: 1 })
    const producer = await kafka.transaction(name)
    await kafka.produce(name, ['before'])
    await producer.send('inside')
    await kafka.produce(name, ['after'])
    const reader = await openReader(kafka, name)
    assert.deepEqual(texts(await reader.take(1)), ['before'])
    const waiting = reader.take(2)
    await producer.commit()
    assert.deepEqual(texts(await waiting), ['inside', 'after'])
  })

  test('uncommitted records are delivered only if the contract asks for them', async t => {
    const kafka = await openCluster(t)
    const name = await kafka.createTopic({ partitions: 1 })
    const producer = await kafka.transaction(name)
    await producer.send('open')
    const reader = await openReader(kafka, name, { isolation: 'uncommitted' })
    assert.deepEqual(texts(await reader.take(1)), ['open'])
    await producer.abort()
  })

  test('compacted records are neither waited for nor a loss', async t => {
    const kafka = await openCluster(t)
    const name = await kafka.createTopic({
      partitions: 1,
      configs: {
        'cleanup.policy': 'compact',
        'min.cleanable.dirty.ratio': '0.001',
        'segment.ms': '100',
        'min.compaction.lag.ms': '0',
        'max.compaction.lag.ms': '100',
      },
    })
    for (let round = 0; round < 5; round++) {
      await kafka.produce(name, [
        { key: 'a', value: `a${round}` },
        { key: 'b', value: round === 4 ? null : `b${round}` },
      ])
    }
    const compacted = async () => {
      await kafka.produce(name, [{ key: `tick${Date.now()}`, value: 'tick' }])
      return !(await kafka.read(name)).some(({ value }) => value === 'a0' || value === 'a3')
    }
    await until('the cleaner has passed', compacted, { deadlineMs: 90_000 })
    const expected = await kafka.read(name)
    const group = randomName('group')
    const reader = await openReader(kafka, name, { group })
    const taken = await reader.take(expected.length)
    assert.deepEqual(
      taken.map(({ place }) => Number(place!.at)),
      expected.map(({ offset }) => offset),
    )
    assert.ok(Number(taken[0]!.place!.at) > 0, 'the first records are gone')
    const tombstones = taken.filter(({ properties }) => properties.tombstone === true)
    assert.deepEqual(
      tombstones.map(({ key }) => key),
      expected.some(({ value }) => value === null) ? ['b'] : [],
    )
    await reader.subscription.settle(taken)
    const end = await kafka.endOffset(name, 0)
    await until('the end is committed', async () => (await kafka.committed(group, name)).get(0) === end)
    assert.deepEqual(reader.checkpoints.losses, [])
  })

  for (const compression of ['gzip', 'snappy', 'lz4', 'zstd'] as const) {
    test(`batches compressed with ${compression} are read`, async t => {
      const kafka = await openCluster(t)
      const name = await kafka.createTopic({ partitions: 1 })
      const values = Array.from({ length: 200 }, (_, index) => `${index}`.repeat(50))
      await kafka.produce(name, values, compression)
      const reader = await openReader(kafka, name)
      assert.deepEqual(texts(await reader.take(200)), values)
    })
  }
})
