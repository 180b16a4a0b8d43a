import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Delivery } from '../../src/ports/source.ts'
import { MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { randomName } from './fixture.ts'
import {
  consume,
  numbered,
  openCluster,
  openReader,
  type Reader,
  type ReaderOptions,
  texts,
} from './reader.ts'

/** Receives until the reader is closed, and settles nothing. */
function collect(readers: readonly Reader[]): Delivery[] {
  const got: Delivery[] = []
  for (const { subscription } of readers) {
    const run = async () => {
      for (;;) {
        const deliveries = await subscription.receive(100)
        if (deliveries.length === 0) return
        got.push(...deliveries)
      }
    }
    void run()
  }
  return got
}

/** One partition, ten records of a key, nothing settled. Then there are two, and the key has moved. */
async function openGrown(t: TestContext, readers: number, options: ReaderOptions) {
  const kafka = await openCluster(t)
  const name = await kafka.createTopic({ partitions: 1 })
  const declared = { group: randomName('group'), checkpoints: new MemoryCheckpoints(), ...options }
  await kafka.produce(
    name,
    numbered(10).map(value => ({ value, key: 'k', partition: 0 })),
  )
  const first = await openReader(kafka, name, declared)
  const taken = await first.take(10)
  const others = await Promise.all(
    Array.from({ length: readers - 1 }, () => openReader(kafka, name, declared)),
  )
  await kafka.addPartitions(name, 2)
  await kafka.produce(name, [{ value: 'moved', key: 'k', partition: 1 }])
  const all = [first, ...others]
  const got = collect(all)
  const waiting = () => all.reduce((sum, { subscription }) => sum + subscription.log!.waitingPartitions!(), 0)
  const untilMoved = () => until('the record of the new partition comes', () => texts(got).includes('moved'))
  return { kafka, name, first, others, taken, got, waiting, untilMoved, declared }
}

const ordered = { log: { ordersKeys: true } } as const

describe('partitions that are added to a topic', await skipWithout('kafka'), () => {
  test('wait until older partitions are drained, where order is by key', async t => {
    const { first, taken, got, waiting, untilMoved } = await openGrown(t, 1, ordered)
    await until('the new partition waits', () => waiting() === 1)
    await first.subscription.settle(taken.slice(0, 9))
    const settledMs = performance.now()
    await until('a commit is long through', () => performance.now() - settledMs > 1_500)
    assert.deepEqual([texts(got), waiting()], [[], 1], 'one record is unfinished')
    await first.subscription.settle(taken.slice(9))
    await untilMoved()
    assert.equal(waiting(), 0)
  })

  for (const protocol of ['classic', 'consumer'] as const) {
    test(`wait in a member that has none of the others: ${protocol}`, async t => {
      const scene = await openGrown(t, 2, { ...ordered, protocol })
      const { first, others, taken, got, waiting, untilMoved } = scene
      await until('the new partition waits', () => others[0]!.subscription.log!.waitingPartitions!() === 1)
      const sinceMs = performance.now()
      await until('nothing comes', () => performance.now() - sinceMs > 1_500)
      assert.deepEqual([texts(got), waiting()], [[], 1])
      await first.subscription.settle(taken)
      await untilMoved()
    })
  }

  test('are read after the time limit, with a warning', async t => {
    const { first, name, untilMoved } = await openGrown(t, 1, { ...ordered, addedPartitionsWaitMs: 1_000 })
    await untilMoved()
    const told = first.events.flatMap(event => (event.kind === 'warning' ? [event.reason] : []))
    assert.ok(
      told.some(reason => reason.includes(`although ${name}/0 is not drained`)),
      told.join('\n'),
    )
  })

  test('do not wait again after a restart', async t => {
    const { kafka, name, first, taken, got, declared, untilMoved } = await openGrown(t, 1, ordered)
    await first.subscription.settle(taken)
    await untilMoved()
    await first.subscription.settle(got)
    await until('all is committed', async () => (await kafka.committed(declared.group, name)).get(1) === 1)
    await kafka.produce(name, [{ value: 'old', partition: 0 }])
    await until('it came', () => texts(got).includes('old'))
    await first.close()
    await kafka.produce(name, [{ value: 'new', partition: 1 }])
    const again = await openReader(kafka, name, declared)
    assert.deepEqual(texts(await again.take(2)).sort(), ['new', 'old'])
  })

  test('are read at once where keys are not ordered', async t => {
    const { untilMoved } = await openGrown(t, 1, {})
    await untilMoved()
  })

  for (const protocol of ['classic', 'consumer'] as const) {
    test(`take nothing away from a static member: ${protocol}`, async t => {
      const kafka = await openCluster(t)
      const name = await kafka.createTopic({ partitions: 1 })
      await kafka.produce(name, ['first'])
      const reader = await openReader(kafka, name, { protocol, instance: 'one', sessionTimeoutMs: 45_000 })
      const seen = consume(reader)
      await until('it reads', () => seen.length === 1)
      await kafka.addPartitions(name, 2)
      await kafka.produce(name, [{ value: 'second', partition: 1 }])
      // Before, a member that joined anew waited for the end of its own session, 45 s.
      await until('it reads the new one', () => seen.includes('second'), { deadlineMs: 30_000 })
      assert.deepEqual(
        reader.events.filter(({ kind }) => kind === 'revoked'),
        [],
      )
    })
  }
})
