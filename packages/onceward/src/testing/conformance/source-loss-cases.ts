import assert from 'node:assert/strict'
import type { Delivery, LogOptions, Subscription } from '../../ports/source.ts'
import { until } from '../until.ts'
import type { ConformanceCase } from './conformance-case.ts'
import type { SourceFeature } from './source.ts'
import { numbered, receiveCount, type SourceBench, texts } from './source-bench.ts'

/** Logs: records that are gone unread are declared, never skipped. */
export const sourceLossCases: readonly ConformanceCase<SourceBench, SourceFeature>[] = [
  {
    name: 'records that expired unread are declared as a loss, and receive rejects until an operator accepts it',
    needs: ['positions', 'expiring records'],
    async run(bench) {
      const received = await settleSome(bench, 8, 2)
      await bench.queue.loseRecords!(bench.partition(0), 3)
      await expectLoss(await bench.openAnother())
      // Once more: it stays declared, and only once.
      await expectLoss(await bench.openAnother())
      const froms = new Set(bench.checkpoints.losses.map(({ from }) => from.next))
      assert.deepEqual([...froms], [received[1]!.place!.next])
      const loss = bench.checkpoints.losses.at(-1)!
      assert.equal(loss.partition, bench.partition(0))
      assert.ok(loss.records === null || loss.records === 3, `${loss.records} records declared lost`)
      assert.ok(loss.reason.length > 0)
      bench.checkpoints.acceptLoss(bench.partition(0))
      const subscription = await bench.openAnother()
      const rest = await receiveCount(subscription, 3)
      assert.deepEqual(texts(rest), ['m5', 'm6', 'm7'])
      await subscription.settle(rest)
      await subscription.close()
      await bench.expectRemaining(0)
      await bench.publishTo(0, 'later')
      assert.deepEqual(texts(await receiveCount(await bench.open(), 1)), ['later'])
    },
  },
  {
    name: 'records that were read expire without a declared loss',
    needs: ['positions', 'expiring records'],
    async run(bench) {
      await settleSome(bench, 8, 5)
      await bench.queue.loseRecords!(bench.partition(0), 3)
      assert.deepEqual(texts(await receiveCount(await bench.openAnother(), 3)), ['m5', 'm6', 'm7'])
      assert.deepEqual(bench.checkpoints.losses, [])
    },
  },
  ...(['broker', 'store'] as const).map(
    (progress): ConformanceCase<SourceBench, SourceFeature> => ({
      name: `a log that was created again is distinguished from the old one (progress '${progress}')`,
      needs: ['positions', 'recreation'],
      async run(bench) {
        await settleSome(bench, 6, 4, progress)
        await bench.queue.recreate!()
        await bench.publishTo(0, ...numbered(10, 'new'))
        await expectLoss(await bench.openAnother({ log: { progress } }))
        assert.deepEqual(texts(await receiveAccepting(bench, 10, progress)), numbered(10, 'new'))
      },
    }),
  ),
  ...(['broker', 'store', 'only'] as const).flatMap(
    (progress): readonly ConformanceCase<SourceBench, SourceFeature>[] => [
      {
        name: `a log that only seemed shorter has its loss withdrawn (progress '${progress}')`,
        needs: ['positions', 'hidden records'],
        async run(bench) {
          await loseFalsely(bench, progress)
          await expectWithdrawn(bench, progress)
        },
      },
    ],
  ),
  {
    name: 'a loss that was accepted and did not happen repeats nothing where there are no markers',
    needs: ['positions', 'hidden records'],
    async run(bench) {
      await loseFalsely(bench, 'only')
      bench.checkpoints.acceptLoss(bench.partition(0))
      await expectWithdrawn(bench, 'only')
    },
  },
  ...(['broker', 'store'] as const).map(
    (progress): ConformanceCase<SourceBench, SourceFeature> => ({
      name: `a loss that was accepted and did not happen loses nothing (progress '${progress}')`,
      needs: ['positions', 'hidden records'],
      async run(bench) {
        await loseFalsely(bench, progress)
        bench.checkpoints.acceptLoss(bench.partition(0))
        const subscription = await bench.openAnother({ log: { progress } })
        const seen: string[] = []
        while (!seen.includes('m7')) seen.push(...texts(await subscription.receive(10)))
        assert.deepEqual(seen.slice(-3), ['m5', 'm6', 'm7'])
      },
    }),
  ),
  {
    name: 'a position that the log has forgotten does not count as a first start',
    needs: ['positions', 'position on the broker', 'forgotten positions'],
    async run(bench) {
      await settleSome(bench, 6, 4)
      await bench.queue.forgetPositions!()
      await expectLoss(await bench.openAnother())
      assert.equal(bench.checkpoints.losses.length, 1)
    },
  },
]

async function settleSome(
  bench: SourceBench,
  count: number,
  settled: number,
  progress: LogOptions['progress'] = 'broker',
): Promise<readonly Delivery[]> {
  await bench.publishTo(0, ...numbered(count))
  const subscription = await bench.open({ log: { progress } })
  const received = await receiveCount(subscription, count)
  const done = received.slice(0, settled)
  bench.checkpoints.advance(subscription.log!.progressWith(done, done))
  await subscription.settle(done)
  await subscription.close()
  return received
}

/** Has a loss declared of records that are there. Five of eight are settled. */
async function loseFalsely(bench: SourceBench, progress: LogOptions['progress']): Promise<void> {
  await settleSome(bench, 8, 5, progress)
  // Where the store keeps the position, what the broker knows of it must make no difference.
  if (progress !== 'broker') await bench.queue.forgetPositions?.()
  const show = await bench.queue.hideRecords!(bench.partition(0))
  await expectLoss(await bench.openAnother({ log: { progress } }))
  await show()
}

async function expectWithdrawn(bench: SourceBench, progress: LogOptions['progress']): Promise<void> {
  const subscription = await bench.openAnother({ log: { progress } })
  assert.deepEqual(texts(await receiveCount(subscription, 3)), ['m5', 'm6', 'm7'])
  const { losses, withdrawn } = bench.checkpoints
  await until('the loss is withdrawn', () => withdrawn.length > 0)
  assert.deepEqual(
    withdrawn.map(({ partition, from }) => [partition, from]),
    [[bench.partition(0), losses[0]!.from]],
  )
}

/**
 * Accepts every loss: each partition of a log that was created again is another one, and reports it in its
 * own time.
 */
async function receiveAccepting(
  bench: SourceBench,
  count: number,
  progress: LogOptions['progress'],
): Promise<Delivery[]> {
  for (let tries = 0; ; tries++) {
    for (const { partition } of bench.checkpoints.losses) bench.checkpoints.acceptLoss(partition)
    const subscription = await bench.openAnother({ log: { progress } })
    try {
      return await receiveCount(subscription, count)
    } catch (error) {
      if (tries === bench.queue.partitions!.length) throw error
      await subscription.close()
    }
  }
}

async function expectLoss(subscription: Subscription): Promise<void> {
  await assert.rejects(
    async () => {
      for (;;) await subscription.receive(100)
    },
    { code: 'records_lost' },
  )
  await subscription.close()
}
