import assert from 'node:assert/strict'
import type { Delivery } from '../../ports/source.ts'
import { MemoryCheckpoints } from '../memory-checkpoints.ts'
import { until } from '../until.ts'
import type { ConformanceCase } from './conformance-case.ts'
import type { SourceFeature } from './source.ts'
import { numbered, receiveCount, type SourceBench, texts } from './source-bench.ts'

/** Logs: the position of a record, and the position from which reading continues. */
export const sourcePositionCases: readonly ConformanceCase<SourceBench, SourceFeature>[] = [
  {
    name: 'a delivery of a log says where it stands, and where to read on after it',
    needs: ['positions'],
    async run(bench) {
      await bench.publishTo(0, ...numbered(3))
      const received = await receiveCount(await bench.open(), 3)
      for (const { place, position, partition } of received) {
        assert.equal(partition, bench.partition(0))
        assert.ok(position !== null && position.length > 0)
        assert.ok(place !== null && place.epoch > 0 && place.incarnation.length > 0)
        assert.notEqual(place.at, place.next)
      }
      assert.equal(new Set(received.map(({ position }) => position)).size, 3)
      assert.equal(new Set(received.map(({ place }) => place!.at)).size, 3)
      assert.equal(new Set(received.map(({ place }) => place!.incarnation)).size, 1)
    },
  },
  {
    name: 'the same record has the same coordinates each time it is read',
    needs: ['positions'],
    async run(bench) {
      await bench.publishTo(0, ...numbered(4))
      const coordinates = async () => {
        const subscription = await bench.open()
        const received = await receiveCount(subscription, 4)
        await subscription.close()
        return received.map(({ body, position, place }) => [body.toString(), position, place!.at])
      }
      assert.deepEqual(await coordinates(), await coordinates())
    },
  },
  {
    name: 'delivers the records of a partition in their order',
    needs: ['positions'],
    async run(bench) {
      await bench.publishTo(0, ...numbered(200))
      assert.deepEqual(texts(await receiveCount(await bench.open(), 200, 7)), numbered(200))
    },
  },
  {
    name: 'reading resumes right behind the longest run that is settled',
    needs: ['positions'],
    async run(bench) {
      await bench.publishTo(0, ...numbered(6))
      const subscription = await bench.open()
      const received = await receiveCount(subscription, 6)
      assert.deepEqual(await subscription.settle([3, 0, 1].map(index => received[index]!)), { missed: 0 })
      await subscription.close()
      await bench.expectRemaining(4)
      const again = await receiveCount(await bench.openAnother(), 4)
      assert.deepEqual(texts(again), ['m2', 'm3', 'm4', 'm5'])
    },
  },
  {
    name: 'no order of settling moves the position past an unfinished record',
    needs: ['positions'],
    async run(bench) {
      await bench.publishTo(0, ...numbered(12))
      const subscription = await bench.open()
      const received = await receiveCount(subscription, 12)
      const unfinished = new Set(received)
      for (const index of [11, 3, 1, 0, 7, 2, 5, 4, 10, 9, 8, 6]) {
        await subscription.settle([received[index]!])
        unfinished.delete(received[index]!)
        const position = await bench.position(bench.partition(0))
        const reached = received.findLastIndex(({ place }) => place!.next === position)
        const lowest = received.findIndex(delivery => unfinished.has(delivery))
        assert.ok(lowest < 0 || reached < lowest, `committed m${reached} while m${lowest} is unfinished`)
      }
      await subscription.close()
      await bench.expectRemaining(0)
    },
  },
  {
    name: 'a settle under at most once resolves when the position is safe',
    needs: ['positions'],
    async run(bench) {
      await bench.publishTo(0, ...numbered(5))
      const subscription = await bench.open({ log: { progress: 'first' } })
      const received = await receiveCount(subscription, 5)
      for (const delivery of received.slice(0, 3)) {
        assert.deepEqual(await subscription.settle([delivery]), { missed: 0 })
        assert.ok(await isBehind(bench, received, await bench.position(bench.partition(0)), delivery))
      }
    },
  },
  {
    name: 'a position written with the effect is where reading starts, not the one committed to the log',
    needs: ['positions'],
    async run(bench) {
      await bench.publishTo(0, ...numbered(6))
      const first = await bench.open()
      const [partition, received] = [bench.partition(0), await receiveCount(first, 6)]
      await first.settle(received.slice(0, 4))
      await first.close()
      const checkpoints = new MemoryCheckpoints()
      const [taken] = await checkpoints.take([partition])
      const { incarnation, next } = received[1]!.place!
      await checkpoints.begin(partition, taken!.epoch, { incarnation, next })
      const second = await bench.openAnother({ log: { progress: 'store', checkpoints } })
      assert.deepEqual(texts(await receiveCount(second, 4)), ['m2', 'm3', 'm4', 'm5'])
    },
  },
  ...(['store', 'only'] as const).map(
    (progress): ConformanceCase<SourceBench, SourceFeature> => ({
      name: `what a transaction writes resumes exactly, though nothing was settled (progress '${progress}')`,
      needs: ['positions'],
      async run(bench) {
        await bench.publishTo(0, ...numbered(6))
        const first = await bench.open({ log: { progress } })
        const received = await receiveCount(first, 6)
        const written = first.log!.progressWith(received.slice(0, 4), [
          received[0]!,
          received[1]!,
          received[3]!,
        ])
        assert.deepEqual(
          written.map(({ partition, epoch }) => ({ partition, epoch })),
          [{ partition: bench.partition(0), epoch: received[0]!.place!.epoch }],
        )
        bench.checkpoints.advance(written)
        await first.close()
        const second = await bench.openAnother({ log: { progress } })
        assert.deepEqual(texts(await receiveCount(second, 4)), ['m2', 'm3', 'm4', 'm5'])
      },
    }),
  ),
  {
    name: 'a transaction moves nothing while the lowest record is unfinished, or when the position is elsewhere',
    needs: ['positions'],
    async run(bench) {
      await bench.publishTo(0, ...numbered(3))
      const subscription = await bench.open({ log: { progress: 'store' } })
      const received = await receiveCount(subscription, 3)
      const [still] = subscription.log!.progressWith(received, received.slice(1))
      assert.equal(still!.next, null)
      await subscription.close()
      const other = await bench.openAnother({
        log: { progress: 'broker', checkpoints: new MemoryCheckpoints() },
      })
      const again = await receiveCount(other, 3)
      assert.equal(other.log!.progressWith(again, again)[0]!.next, null)
    },
  },
  {
    name: 'a partition that is stuck leaves the others flowing',
    needs: ['positions', 'several partitions'],
    async run(bench) {
      const subscription = await bench.open({ inFlightMax: 10 })
      await bench.publishTo(0, ...numbered(50, 'stuck'))
      await receiveCount(subscription, 1)
      await bench.publishTo(1, ...numbered(50, 'flows'))
      const flown: string[] = []
      while (flown.length < 50) {
        const some = await subscription.receive(100)
        const mine = some.filter(({ partition }) => partition === bench.partition(1))
        flown.push(...texts(mine))
        await subscription.settle(mine)
      }
      assert.deepEqual(flown, numbered(50, 'flows'))
    },
  },
  {
    name: 'says how far behind each partition is',
    needs: ['positions'],
    async run(bench) {
      await bench.publishTo(0, ...numbered(5))
      const subscription = await bench.open()
      const received = await receiveCount(subscription, 5)
      await subscription.settle(received.slice(0, 2))
      const lag = () => subscription.lag!().find(({ partition }) => partition === bench.partition(0))
      await until('three records are behind', () => lag()?.behind === 3)
      await subscription.settle(received.slice(2))
      await until('nothing is behind', () => lag()?.behind === 0)
    },
  },
]

/** The position is after this delivery: at a later record, or at the end. */
async function isBehind(
  { queue }: SourceBench,
  received: readonly Delivery[],
  position: string | null,
  delivery: Delivery,
): Promise<boolean> {
  const left = received.length - 1 - received.indexOf(delivery)
  return position !== null && (await queue.countFrom!(delivery.partition, position)) <= left
}
