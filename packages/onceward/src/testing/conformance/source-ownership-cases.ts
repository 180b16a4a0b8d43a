import assert from 'node:assert/strict'
import type { Delivery } from '../../ports/source.ts'
import { until } from '../until.ts'
import type { ConformanceCase } from './conformance-case.ts'
import type { SourceFeature } from './source.ts'
import { numbered, type OpenSubscription, receiveCount, type SourceBench, texts } from './source-bench.ts'
import { gate } from './store-bench.ts'

/** Logs: the owner of a partition, and its move from one owner to the next. */
export const sourceOwnershipCases: readonly ConformanceCase<SourceBench, SourceFeature>[] = [
  {
    name: 'every taking of a partition raises its epoch, and deliveries carry it',
    needs: ['positions'],
    async run(bench) {
      await bench.publishTo(0, 'x')
      const epochs: number[] = []
      for (let time = 0; time < 3; time++) {
        const subscription = await bench.open()
        const [delivery] = await receiveCount(subscription, 1)
        epochs.push(delivery!.place!.epoch)
        await subscription.close()
      }
      assert.ok(epochs[0]! < epochs[1]! && epochs[1]! < epochs[2]!, epochs.join(' < '))
    },
  },
  {
    name: 'deliveries of a partition the store gave to another owner are dead at once',
    needs: ['positions'],
    async run(bench) {
      await bench.publishTo(0, ...numbered(4))
      const subscription = await bench.open()
      const received = await receiveCount(subscription, 4)
      await bench.checkpoints.take([bench.partition(0)])
      subscription.log!.disown([bench.partition(0)])
      assert.ok(received.every(delivery => !subscription.isLive(delivery)))
      const before = await bench.position(bench.partition(0))
      assert.deepEqual(await subscription.settle(received), { missed: 4 })
      assert.equal(await bench.position(bench.partition(0)), before)
      assert.throws(() => subscription.log!.progressWith(received, received), {
        code: 'ownership_lost',
        details: { partitions: [bench.partition(0)] },
      })
    },
  },
  {
    name: 'a partition with another owner does not affect the others',
    needs: ['positions', 'several partitions'],
    async run(bench) {
      await bench.publishTo(0, ...numbered(2, 'gone'))
      await bench.publishTo(1, ...numbered(2, 'stays'))
      const subscription = await bench.open()
      const received = await receiveCount(subscription, 4)
      subscription.log!.disown([bench.partition(0)])
      const stays = received.filter(({ partition }) => partition === bench.partition(1))
      assert.equal(stays.length, 2)
      assert.ok(stays.every(delivery => subscription.isLive(delivery)))
      assert.deepEqual(await subscription.settle(stays), { missed: 0 })
    },
  },
  {
    name: 'a partition moves to its next owner only when the last one has released it, which may settle until then',
    needs: ['positions', 'several partitions', 'shared partitions'],
    async run(bench) {
      for (const index of bench.queue.partitions!.keys())
        await bench.publishTo(index, ...numbered(4, `p${index}-`))
      const count = bench.queue.partitions!.length * 4
      const [asked, letGo] = [gate(), gate()]
      let going: readonly string[] = []
      const onRevoke = async (partitions: readonly string[]) => {
        going = [...going, ...partitions]
        asked.open()
        await letGo.opened
      }
      const first = await bench.open({ log: { onRevoke } })
      const received = await receiveCount(first, count)
      const second = await bench.openAnother()
      const taken = second.receive(100)
      let handed = false
      void taken.then(() => {
        handed = true
      })
      await asked.opened
      const mine = received.filter(({ partition }) => going.includes(partition))
      assert.ok(mine.length > 0)
      // Of each revoked partition, the first two records are finished in time.
      const done = mine.filter(delivery => indexIn(mine, delivery) < 2)
      assert.deepEqual(await first.settle(done), { missed: 0 })
      assert.equal(handed, false, 'delivered while the old owner was still at work')
      letGo.open()
      const again = [...(await taken)]
      const expected = mine.length - done.length
      while (again.length < expected) again.push(...(await second.receive(100)))
      assert.deepEqual(texts(again).sort(), texts(mine.filter(delivery => !done.includes(delivery))).sort())
      assert.ok(mine.every(delivery => !first.isLive(delivery)))
      assert.ok(again.every(({ place, partition }) => place!.epoch > epochOf(mine, partition)))
    },
  },
  {
    name: 'two subscriptions share the partitions, and together settle every record once, in order',
    needs: ['positions', 'several partitions', 'shared partitions'],
    async run(bench) {
      const indexes = [...bench.queue.partitions!.keys()]
      for (const index of indexes) await bench.publishTo(index, ...numbered(60, `p${index}-`))
      const settled: Delivery[] = []
      const shares = [new Share(settled), new Share(settled)]
      const [first, second] = shares
      await first!.use(bench.open({ inFlightMax: 20, log: { onRevoke: () => first!.idle() } }))
      const half = first!.consume()
      await until('some are settled', () => settled.length > 10)
      await second!.use(bench.openAnother({ inFlightMax: 20, log: { onRevoke: () => second!.idle() } }))
      const other = second!.consume()
      await until('both have a share', () => second!.owns)
      for (const index of indexes) await bench.publishTo(index, ...numbered(60, `q${index}-`))
      await until('all are settled', () => settled.length >= indexes.length * 120)
      await Promise.all(shares.map(share => share.close()))
      await Promise.all([half, other])
      for (const index of indexes) {
        const here = texts(settled.filter(({ partition }) => partition === bench.partition(index)))
        assert.deepEqual(here, [...numbered(60, `p${index}-`), ...numbered(60, `q${index}-`)])
      }
      assert.ok(
        shares.every(({ count }) => count > 0),
        'one of them did all the work',
      )
      await bench.expectRemaining(0)
    },
  },
  {
    name: 'a log continues after a lost connection, and loses nothing',
    needs: ['positions', 'lost connection'],
    async run(bench) {
      await bench.publishTo(0, ...numbered(20))
      const subscription = await bench.open({ inFlightMax: 5 })
      const seen = new Set<string>()
      for (let cut = false; seen.size < 20; cut = true) {
        const some = await subscription.receive(5)
        if (!cut) await bench.queue.disconnect!()
        for (const text of texts(some)) seen.add(text)
        await subscription.settle(some)
      }
      await subscription.close()
      const again = await bench.openAnother()
      await bench.publishTo(0, 'last')
      for (let last = false; !last; ) {
        const some = await again.receive(100)
        await again.settle(some)
        last = texts(some).includes('last')
      }
      await again.close()
      await bench.expectRemaining(0)
    },
  },
]

const indexIn = (all: readonly Delivery[], delivery: Delivery): number =>
  all.filter(({ partition }) => partition === delivery.partition).indexOf(delivery)

const epochOf = (all: readonly Delivery[], name: string): number =>
  all.find(({ partition }) => partition === name)!.place!.epoch

/** A consumer that finishes its deliveries before it releases a partition. */
class Share {
  readonly #settled: Delivery[]
  #subscription: OpenSubscription | null = null
  #working: Promise<unknown> = Promise.resolve()
  count = 0

  constructor(settled: Delivery[]) {
    this.#settled = settled
  }

  async use(subscription: Promise<OpenSubscription>): Promise<void> {
    this.#subscription = await subscription
  }

  get owns(): boolean {
    return this.#subscription!.events.some(({ kind }) => kind === 'assigned')
  }

  async consume(): Promise<void> {
    for (;;) {
      const some = await this.#subscription!.receive(7)
      if (some.length === 0) return
      this.#working = this.#finish(some)
      await this.#working
    }
  }

  async #finish(some: readonly Delivery[]): Promise<void> {
    await new Promise(resolve => setImmediate(resolve))
    const live = some.filter(delivery => this.#subscription!.isLive(delivery))
    const { missed } = await this.#subscription!.settle(live)
    assert.equal(missed, 0)
    this.count += live.length
    this.#settled.push(...live)
  }

  async idle(): Promise<void> {
    await this.#working
  }

  async close(): Promise<void> {
    await this.#working
    await this.#subscription!.close()
  }
}
