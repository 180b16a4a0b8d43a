import assert from 'node:assert/strict'
import { until } from '../until.ts'
import type { ConformanceCase } from './conformance-case.ts'
import type { SourceFeature } from './source.ts'
import { numbered, receiveCount, type SourceBench, texts } from './source-bench.ts'

/** Connections that end, on purpose or not. */
export const sourceConnectionCases: readonly ConformanceCase<SourceBench, SourceFeature>[] = [
  {
    name: 'close ends a waiting receive with an empty list, and may be called again',
    async run(bench) {
      const subscription = await bench.open()
      const waiting = subscription.receive(10)
      await subscription.close()
      assert.deepEqual(await waiting, [])
      await subscription.close()
      assert.deepEqual(await subscription.receive(10), [])
    },
  },
  {
    name: 'a settle after close acknowledges nothing and reports it',
    async run(bench) {
      await bench.publish(...numbered(2))
      const subscription = await bench.open()
      const received = await receiveCount(subscription, 2)
      await subscription.close()
      assert.deepEqual(await subscription.settle(received), { missed: 2 })
      assert.ok(received.every(delivery => !subscription.isLive(delivery)))
      await bench.expectRemaining(2)
    },
  },
  {
    name: 'after a lost connection held deliveries are not live and come back redelivered',
    needs: ['lost connection', 'single settling'],
    async run(bench) {
      await bench.publish(...numbered(4))
      const subscription = await bench.open()
      const stale = await receiveCount(subscription, 4)
      await bench.queue.disconnect!()
      await until('the deliveries are stale', () => stale.every(delivery => !subscription.isLive(delivery)))
      const again = await receiveCount(subscription, 4)
      assert.deepEqual(texts(again).sort(), texts(stale).sort())
      assert.ok(again.every(delivery => delivery.redelivered && subscription.isLive(delivery)))
      await subscription.settle(again)
      await subscription.close()
      await bench.expectRemaining(0)
    },
  },
  {
    name: 'settling a stale delivery is counted as missed and never settles its redelivery',
    needs: ['lost connection', 'single settling'],
    async run(bench) {
      await bench.publish(...numbered(4))
      const subscription = await bench.open()
      const stale = await receiveCount(subscription, 4)
      await bench.queue.disconnect!()
      const again = await receiveCount(subscription, 4)
      assert.deepEqual(await subscription.settle(stale), { missed: 4 })
      assert.ok(again.every(delivery => subscription.isLive(delivery)))
      assert.deepEqual(await subscription.settle(again.slice(0, 1)), { missed: 0 })
      await subscription.close()
      await bench.expectRemaining(3)
    },
  },
  {
    name: 'a receive that waits through a lost connection continues',
    needs: ['lost connection'],
    async run(bench) {
      const subscription = await bench.open()
      const waiting = subscription.receive(10)
      await bench.queue.disconnect!()
      await bench.publish('after the cut')
      assert.deepEqual(texts(await waiting), ['after the cut'])
    },
  },
  {
    name: 'a lost connection leaves the bounds as they were',
    needs: ['lost connection', 'single settling'],
    async run(bench) {
      await bench.publish(...numbered(12))
      const subscription = await bench.open({ inFlightMax: 4 })
      await receiveCount(subscription, 4)
      await bench.queue.disconnect!()
      const seen = new Set<string>()
      while (seen.size < 12) {
        const some = await subscription.receive(100)
        assert.ok(some.length <= 4, `${some.length} unsettled, allowed 4`)
        await subscription.settle(some)
        for (const text of texts(some)) seen.add(text)
      }
      await subscription.close()
      await bench.expectRemaining(0)
    },
  },
]
