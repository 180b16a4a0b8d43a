import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { Delivery } from '../../ports/source.ts'
import { until } from '../until.ts'
import type { ConformanceCase } from './conformance-case.ts'
import type { SourceFeature } from './source.ts'
import { numbered, receiveCount, type SourceBench, texts } from './source-bench.ts'

/** What is delivered: the bytes, the facts, how many and in which order. */
export const sourceDeliveryCases: readonly ConformanceCase<SourceBench, SourceFeature>[] = [
  {
    name: 'delivers exactly the bytes that were published',
    needs: ['any bytes'],
    async run(bench) {
      const bodies = {
        'every byte value': Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
        'no bytes at all': Buffer.alloc(0),
        'only NULs': Buffer.alloc(100),
        'broken UTF-8': Buffer.from([0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80]),
        'one megabyte': randomBytes(1024 * 1024),
        text: Buffer.from('{"price": 1.10, "name": "Ünïcödé 🚚"}'),
      }
      await bench.publish(...Object.values(bodies).map(body => ({ body })))
      const subscription = await bench.open()
      const received = await receiveCount(subscription, Object.keys(bodies).length)
      for (const [what, body] of Object.entries(bodies)) {
        assert.ok(
          received.some(delivery => delivery.body.equals(body)),
          `${what} did not arrive unchanged`,
        )
      }
      assert.ok(received.every(delivery => Buffer.isBuffer(delivery.body)))
    },
  },
  {
    name: 'delivers headers and properties under the common names',
    needs: ['headers'],
    async run(bench) {
      const headers = { tenant: 'blue', 'Mixed-Case': 'Ünïcödé', number: 42, flag: true }
      const properties = {
        messageId: 'm-1',
        correlationId: 'c-1',
        type: 'order.placed',
        contentType: 'application/json',
        contentEncoding: 'identity',
        appId: 'shop',
        timestampMs: 1_700_000_000_000,
      }
      await bench.publish({ body: Buffer.from('x'), headers, properties }, { body: Buffer.from('bare') })
      const received = await receiveCount(await bench.open(), 2)
      const full = received.find(({ body }) => body.toString() === 'x')!
      for (const [name, value] of Object.entries(headers)) assert.deepEqual(full.headers[name], value, name)
      assert.deepEqual({ ...full.properties }, properties)
      const bare = received.find(({ body }) => body.toString() === 'bare')!
      for (const name of ['messageId', 'correlationId', 'type', 'appId'] as const) {
        assert.equal(bare.properties[name], undefined, `${name} was never given`)
      }
    },
  },
  {
    name: 'delivers the key a message was published with',
    needs: ['message key'],
    async run(bench) {
      await bench.publish({ body: Buffer.from('x'), key: 'customer.7' })
      const [delivery] = await receiveCount(await bench.open(), 1)
      assert.equal(delivery!.key, 'customer.7')
    },
  },
  {
    name: 'names the origin of a delivery, and marks it as the first',
    async run(bench) {
      await bench.publish('x')
      const [delivery] = await receiveCount(await bench.open(), 1)
      assert.ok(delivery!.origin.length > 0)
      assert.equal(delivery!.redelivered, false)
      assert.equal(delivery!.deliveryCount, 0)
    },
  },
  {
    name: 'never waits to fill a batch',
    async run(bench) {
      const subscription = await bench.open()
      const waiting = subscription.receive(100)
      await bench.publish('alone')
      assert.deepEqual(texts(await waiting), ['alone'])
    },
  },
  {
    name: 'delivers at most as many as requested',
    async run(bench) {
      await bench.publish(...numbered(10))
      const subscription = await bench.open()
      const all: string[] = []
      while (all.length < 10) {
        const some = await subscription.receive(3)
        assert.ok(some.length >= 1 && some.length <= 3, `${some.length} deliveries, asked for 3`)
        all.push(...texts(some))
      }
      assert.deepEqual(all.sort(), numbered(10))
    },
  },
  {
    name: 'never holds more unsettled deliveries than allowed',
    async run(bench) {
      await bench.publish(...numbered(20))
      const subscription = await bench.open({ inFlightMax: 3 })
      const held: Delivery[] = []
      const seen: string[] = []
      const receiving = (async () => {
        while (seen.length < 20) {
          const more = await subscription.receive(100)
          held.push(...more)
          seen.push(...texts(more))
          assert.ok(held.length <= 3, `${held.length} unsettled, allowed 3`)
        }
      })()
      // One by one: a log whose other partitions keep their share may deliver nothing until the next is
      // settled.
      await until('all 20 came, three at a time', async () => {
        if (held.length > 0) await subscription.settle(held.splice(0, 1))
        return seen.length === 20
      })
      await receiving
      assert.deepEqual(seen.sort(), numbered(20).sort())
    },
  },
  {
    name: 'never holds more unsettled bytes than allowed, save for one message larger than that',
    needs: ['byte bound'],
    async run(bench) {
      const body = Buffer.alloc(100 * 1024, 'b')
      const large = Buffer.alloc(600 * 1024, 'l')
      await bench.publish(...Array.from({ length: 10 }, () => ({ body })), { body: large })
      const bytesMax = 350 * 1024
      const subscription = await bench.open({ inFlightBytesMax: bytesMax })
      for (let seen = 0; seen < 11; ) {
        const held = await subscription.receive(100)
        const bytes = held.reduce((sum, delivery) => sum + delivery.body.length, 0)
        assert.ok(
          bytes <= bytesMax || held.length === 1,
          `${held.length} deliveries of ${bytes} bytes, allowed ${bytesMax}`,
        )
        await subscription.settle(held)
        seen += held.length
      }
    },
  },
  {
    name: 'delivers the messages of one key in order of publishing',
    needs: ['key order', 'message key'],
    async run(bench) {
      const keys = ['a', 'b', 'c']
      const published = numbered(60).map((text, index) => ({
        body: Buffer.from(text),
        key: keys[index % 3]!,
      }))
      await bench.publish(...published)
      const received = await receiveCount(await bench.open(), 60, 7)
      for (const key of keys) {
        const expected = published.filter(message => message.key === key).map(({ body }) => body.toString())
        assert.deepEqual(texts(received.filter(delivery => delivery.key === key)), expected)
      }
    },
  },
]
