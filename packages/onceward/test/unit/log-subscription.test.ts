import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Delivery } from '../../src/ports/source.ts'
import { LogBench, recordOf } from './log-bench.ts'

const nat = (max: number) => fc.nat({ max })
const partitionsMax = 5
const which = nat(partitionsMax - 1)

const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('offer' as const),
      which,
      sizes: fc.array(nat(60), { maxLength: 12 }),
      gap: nat(2),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('receive' as const), max: fc.integer({ min: 1, max: 20 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('settle' as const),
      seed: nat(1_000),
      count: fc.integer({ min: 1, max: 8 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('stop' as const), which }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lose' as const), which }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('gain' as const), which }) },
)
const bounds = fc.record({
  inFlightMax: fc.integer({ min: 1, max: 12 }),
  inFlightBytesMax: fc.integer({ min: 1, max: 200 }),
})

describe('a subscription to a log', () => {
  test('under any schedule keeps order, bounds and positions, and drops records of other owners', async () => {
    await fc.assert(
      fc.asyncProperty(bounds, fc.array(step, { maxLength: 60 }), async (limits, steps) => {
        const bench = new LogBench(partitionsMax, limits)
        for (const one of steps) {
          if (one.do === 'offer') bench.offer(one.which, one.sizes, one.gap)
          else if (one.do === 'receive') await bench.receive(one.max)
          else if (one.do === 'settle') await bench.settle(bench.some(one.seed, one.count))
          else if (one.do === 'stop') bench.subscription.stop(bench.name(one.which))
          else if (one.do === 'lose') bench.lose(one.which)
          else bench.gain(one.which)
          bench.assertSound()
        }
      }),
      { numRuns: 400 },
    )
  })

  test('delivers everything that was offered, once, for any record sizes', async () => {
    await fc.assert(
      fc.asyncProperty(
        bounds,
        fc.array(fc.record({ which, sizes: fc.array(nat(300), { maxLength: 8 }) }), { maxLength: 10 }),
        async (limits, offers) => {
          const bench = new LogBench(partitionsMax, limits)
          for (const { which, sizes } of offers) bench.offer(which, sizes, 0)
          await bench.drain()
          bench.assertAllHanded()
        },
      ),
      { numRuns: 200 },
    )
  })

  test('partitions take turns', async () => {
    const bench = new LogBench(3, { inFlightMax: 3, inFlightBytesMax: 100 })
    for (const partition of [0, 1, 2]) bench.offer(partition, Array(10).fill(1), 0)
    for (let round = 0; round < 3; round++) {
      await bench.receive(1)
      await bench.settle([...bench.held])
    }
    assert.deepEqual(bench.everything.map(({ partition }) => partition).sort(), ['p0', 'p1', 'p2'])
  })

  test('a turn begins after the partition that was served last, so that two batches have few in common', async () => {
    const bench = new LogBench(4, { inFlightMax: 100, inFlightBytesMax: 10_000 })
    for (const which of [0, 1, 2, 3]) bench.offer(which, [1, 1, 1], 0)
    await bench.receive(4)
    await bench.receive(4)
    assert.deepEqual(
      bench.everything.map(({ partition }) => partition),
      ['p0', 'p0', 'p0', 'p1', 'p2', 'p2', 'p2', 'p3'],
    )
  })

  test('ignores records of a partition that is stopped, or of an ownership that ended', async () => {
    const bench = new LogBench(1, { inFlightMax: 10, inFlightBytesMax: 100 })
    const stale = bench.subscription.progressOf('p0')!
    bench.subscription.stop('p0')
    bench.subscription.offer(stale, [recordOf(0, 1)], '1')
    bench.lose(0)
    bench.gain(0)
    bench.subscription.offer(stale, [recordOf(0, 1)], '1')
    await bench.receive(10)
    assert.deepEqual(bench.everything, [])
  })

  test('a single partition leaves a third of the room for others', async () => {
    const bench = new LogBench(1, { inFlightMax: 8, inFlightBytesMax: 1_000 })
    bench.offer(0, Array(20).fill(1), 0)
    await bench.receive(100)
    assert.equal(bench.held.length, 5)
  })

  test('no number of stuck partitions stops one that flows', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 2, max: 40 }),
        nat(60),
        fc.array(nat(1_000), { minLength: 1, maxLength: 80 }),
        async (partitions, spare, turns) => {
          const flowing = partitions - 1
          const bench = new LogBench(partitions, {
            inFlightMax: partitions + spare,
            inFlightBytesMax: 1_000_000,
          })
          // The stuck ones come one after the other, each taking what it can get.
          for (const turn of turns) {
            bench.offer(turn % flowing, Array(100).fill(10), 0)
            await bench.receive(1_000)
          }
          for (let round = 0; round < 5; round++) {
            bench.offer(flowing, [10, 10], 0)
            await bench.until(delivery => delivery.partition === bench.name(flowing), 2)
          }
        },
      ),
      { numRuns: 100 },
    )
  })

  test('nor do their bytes, for records within a fair share', async () => {
    const bench = new LogBench(10, { inFlightMax: 1_000, inFlightBytesMax: 10_000 })
    for (let stuck = 0; stuck < 9; stuck++) {
      bench.offer(stuck, Array(50).fill(400), 0)
      await bench.receive(1_000)
    }
    bench.offer(9, [400, 400, 400], 0)
    await bench.until(delivery => delivery.partition === bench.name(9), 3)
  })

  test('a large record waits for room, not until the others are empty', async () => {
    const bench = new LogBench(3, { inFlightMax: 100, inFlightBytesMax: 1_000 })
    for (const large of [450, 900, 5_000]) {
      bench.offer(0, [large], 0)
      const isLarge = (delivery: Delivery) => delivery.body.length === large
      for (let round = 0; !bench.everything.some(isLarge); round++) {
        assert.ok(round < 50, `a record of ${large} bytes starves`)
        bench.offer(1, Array(10).fill(90), 0)
        bench.offer(2, Array(10).fill(90), 0)
        await bench.receive(100)
        // Something is always unsettled, as on a busy log.
        await bench.settle(bench.held.slice(0, Math.ceil(bench.held.length / 2)))
      }
      await bench.drain()
    }
  })

  test('a partition that is stopped or lost while its record waits does not block others', async () => {
    for (const leave of [
      (bench: LogBench) => bench.subscription.stop('p0'),
      (bench: LogBench) => bench.lose(0),
    ]) {
      const bench = new LogBench(2, { inFlightMax: 100, inFlightBytesMax: 1_000 })
      bench.offer(1, Array(20).fill(90), 0)
      await bench.receive(1)
      bench.offer(0, [950], 0)
      await bench.receive(100)
      await bench.receive(100)
      assert.equal(
        bench.everything.some(({ partition }) => partition === 'p0'),
        false,
      )
      await bench.settle(bench.held.slice(1))
      const before = bench.everything.length
      leave(bench)
      await bench.receive(100)
      assert.ok(bench.everything.length > before, 'the other partition stands still')
    }
  })

  test('a partition that joins a full subscription gets its share at once', async () => {
    const bench = new LogBench(2, { inFlightMax: 8, inFlightBytesMax: 1_000 })
    bench.lose(1)
    bench.offer(0, Array(20).fill(1), 0)
    await bench.receive(100)
    bench.gain(1)
    bench.offer(1, [1], 0)
    await bench.receive(100)
    bench.assertSound()
    assert.equal(bench.everything.at(-1)!.partition, 'p1')
  })

  test('reads ahead within a bound, and signals when there is room again', async () => {
    const bench = new LogBench(1, { inFlightMax: 10, inFlightBytesMax: 100 * 1024 * 1024 })
    assert.equal(bench.subscription.wants('p0'), true)
    bench.offer(0, Array(4).fill(300 * 1024), 0)
    assert.equal(bench.subscription.wants('p0'), false)
    await bench.receive(1)
    assert.equal(bench.subscription.wants('p0'), true)
    assert.equal(bench.rooms, 1)
  })

  test('a gap behind the last record belongs to its position', async () => {
    const bench = new LogBench(1, { inFlightMax: 10, inFlightBytesMax: 100 })
    bench.offer(0, [1, 1], 3)
    await bench.receive(10)
    await bench.settle([...bench.held])
    assert.equal(bench.told.get('p0'), bench.end(0))
    bench.offer(0, [], 4)
    assert.equal(Number(bench.subscription.progressOf('p0')!.position), bench.end(0))
  })
})
