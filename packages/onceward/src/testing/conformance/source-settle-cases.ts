import assert from 'node:assert/strict'
import type { Delivery } from '../../ports/source.ts'
import type { ConformanceCase } from './conformance-case.ts'
import type { SourceFeature } from './source.ts'
import { numbered, type OpenSubscription, receiveCount, type SourceBench, texts } from './source-bench.ts'

/** What the broker deletes, and what it redelivers. */
export const sourceSettleCases: readonly ConformanceCase<SourceBench, SourceFeature>[] = [
  {
    name: 'settled deliveries never come back',
    async run(bench) {
      await bench.publish(...numbered(5))
      const subscription = await bench.open()
      assert.deepEqual(await subscription.settle(await receiveCount(subscription, 5)), { missed: 0 })
      await subscription.close()
      await bench.expectRemaining(0)
      await bench.publish('later')
      assert.deepEqual(texts(await (await bench.openAnother()).receive(100)), ['later'])
    },
  },
  {
    name: 'unsettled deliveries come back after close, marked as redelivered',
    needs: ['single settling'],
    async run(bench) {
      await bench.publish(...numbered(6))
      const subscription = await bench.open()
      const received = await receiveCount(subscription, 6)
      await subscription.settle(received.filter((_, index) => index % 2 === 0))
      await subscription.close()
      await bench.expectRemaining(3)
      const again = await receiveCount(await bench.openAnother(), 3)
      const unsettled = texts(received.filter((_, index) => index % 2 === 1))
      assert.deepEqual(texts(again).sort(), unsettled.sort())
      assert.ok(again.every(delivery => delivery.redelivered))
    },
  },
  {
    name: 'what arrived but was never received comes back after close',
    async run(bench) {
      await bench.publish(...numbered(10))
      const subscription = await bench.open()
      await receiveCount(subscription, 1)
      await subscription.close()
      await bench.expectRemaining(10)
      assert.deepEqual(texts(await receiveCount(await bench.openAnother(), 10)).sort(), numbered(10))
    },
  },
  {
    name: 'counts how often a message was delivered before',
    needs: ['delivery count'],
    async run(bench) {
      await bench.publish('x')
      for (let earlier = 0; earlier < 3; earlier++) {
        const subscription = await bench.open()
        const [delivery] = await receiveCount(subscription, 1)
        assert.equal(delivery!.deliveryCount, earlier)
        await subscription.close()
        await bench.expectRemaining(1)
      }
    },
  },
  {
    name: 'takes settlements in any order and in any portions',
    async run(bench) {
      await bench.publish(...numbered(30))
      const subscription = await bench.open()
      const received = await receiveCount(subscription, 30)
      const order = [
        ...received.slice(20).reverse(),
        ...received.slice(0, 10),
        ...received.slice(10, 20).reverse(),
      ]
      for (let size = 1; order.length > 0; size++) {
        assert.deepEqual(await subscription.settle(order.splice(0, size)), { missed: 0 })
      }
      await subscription.close()
      await bench.expectRemaining(0)
    },
  },
  {
    name: 'settling nothing is allowed',
    async run(bench) {
      assert.deepEqual(await (await bench.open()).settle([]), { missed: 0 })
    },
  },
  {
    name: 'a held delivery is live',
    async run(bench) {
      await bench.publish('x')
      const subscription = await bench.open()
      const [delivery] = await receiveCount(subscription, 1)
      assert.equal(subscription.isLive(delivery!), true)
    },
  },
  {
    name: 'two subscriptions never hold the same message at once',
    needs: ['single settling'],
    async run(bench) {
      const count = 300
      await bench.publish(...numbered(count))
      const subscriptions = [
        await bench.open({ inFlightMax: 20 }),
        await bench.openAnother({ inFlightMax: 20 }),
      ]
      const holders = new Map<string, number>()
      let left = count
      const settled: string[] = []
      const consume = async (subscription: OpenSubscription) => {
        while (left > 0) {
          const some = await subscription.receive(7)
          for (const text of texts(some)) hold(holders, text)
          await new Promise(resolve => setImmediate(resolve))
          for (const text of texts(some)) holders.delete(text)
          const { missed } = await subscription.settle(some)
          assert.equal(missed, 0)
          settled.push(...texts(some))
          left -= some.length
        }
        await Promise.all(subscriptions.map(one => one.close()))
      }
      await Promise.all(subscriptions.map(consume))
      assert.deepEqual(settled.sort(), numbered(count).sort())
      await bench.expectRemaining(0)
    },
  },
  {
    name: 'two subscriptions never hold messages of one key at once, and together keep its order',
    needs: ['single settling', 'key order', 'key order across subscriptions', 'message key'],
    async run(bench) {
      const keys = ['a', 'b', 'c', 'd']
      const published = numbered(120).map((text, index) => ({
        body: Buffer.from(text),
        key: keys[index % 4]!,
      }))
      await bench.publish(...published)
      const subscriptions = [
        await bench.open({ inFlightMax: 9 }),
        await bench.openAnother({ inFlightMax: 9 }),
      ]
      const order = await consumeByKey(subscriptions, published.length)
      for (const key of keys) {
        const expected = published.filter(message => message.key === key).map(({ body }) => body.toString())
        assert.deepEqual(
          texts(order.filter(delivery => delivery.key === key)),
          expected,
          `order of key ${key}`,
        )
      }
    },
  },
]

function hold(holders: Map<string, number>, text: string): void {
  assert.equal(holders.has(text), false, `${text} is held twice at once`)
  holders.set(text, 1)
}

/** Both subscriptions receive and settle until nothing is left; returns the order of delivery. */
async function consumeByKey(subscriptions: readonly OpenSubscription[], count: number): Promise<Delivery[]> {
  const order: Delivery[] = []
  const holder = new Map<string, OpenSubscription>()
  const consume = async (subscription: OpenSubscription) => {
    while (order.length < count) {
      const some = await subscription.receive(4)
      for (const delivery of some) {
        const other = holder.get(delivery.key!)
        assert.ok(
          other === undefined || other === subscription,
          `key ${delivery.key} is held by two subscriptions`,
        )
        holder.set(delivery.key!, subscription)
      }
      order.push(...some)
      await new Promise(resolve => setImmediate(resolve))
      for (const delivery of some) holder.delete(delivery.key!)
      await subscription.settle(some)
    }
    await Promise.all(subscriptions.map(one => one.close()))
  }
  await Promise.all(subscriptions.map(consume))
  return order
}
