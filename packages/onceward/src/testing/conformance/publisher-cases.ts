import assert from 'node:assert/strict'
import type { ConformanceCase } from './conformance-case.ts'
import { assertHeaders, namedLikeInherited } from './hostile-headers.ts'
import type { PublisherFeature } from './publisher.ts'
import { bounded, idOf, type PublisherBench } from './publisher-bench.ts'

const anyBytes = Buffer.from([0, 10, 13, 0xff, 0xfe, 0xc3, 0x28])

export const publisherCases: readonly ConformanceCase<PublisherBench, PublisherFeature>[] = [
  {
    name: 'a confirmed message is readable at its destination, with its id, headers, properties and exact bytes',
    async run(bench) {
      const properties = { correlationId: 'c-1', type: 'paid', contentType: 'text/plain' }
      const message = bench.message('m-1', { body: anyBytes, headers: { tenant: 'acme' }, properties })
      assert.deepEqual(await bench.publish(message), ['confirmed'])
      const [delivery] = await bench.received(1)
      assert.deepEqual(delivery!.body, anyBytes)
      assert.equal(idOf(delivery!), 'm-1')
      assertHeaders(delivery!.headers, { tenant: 'acme' })
      const { correlationId, type, contentType } = delivery!.properties
      assert.deepEqual({ correlationId, type, contentType }, properties)
    },
  },
  {
    name: 'the key arrives with the message',
    needs: ['message key'],
    async run(bench) {
      assert.deepEqual(await bench.publish(bench.message('m-1', { key: 'customer.7' })), ['confirmed'])
      assert.equal((await bench.received(1))[0]!.key, 'customer.7')
    },
  },
  {
    name: 'headers that are numbers, booleans and tables keep their types',
    needs: ['typed headers'],
    async run(bench) {
      const headers = { n: 7, yes: true, table: { deep: ['a', 1] } }
      assert.deepEqual(await bench.publish(bench.message('m-1', { headers })), ['confirmed'])
      const [delivery] = await bench.received(1)
      assert.equal(JSON.stringify(delivery!.headers.n), '7')
      assertHeaders(delivery!.headers, headers)
    },
  },
  {
    name: 'headers named like what every object inherits arrive under their names',
    async run(bench) {
      const message = bench.message('m-1', { headers: namedLikeInherited })
      assert.deepEqual(await bench.publish(message), ['confirmed'])
      assertHeaders((await bench.received(1))[0]!.headers, namedLikeInherited)
    },
  },
  {
    name: 'an empty body and a large one arrive as they are',
    async run(bench) {
      const large = Buffer.alloc(512 * 1024, anyBytes)
      const messages = [
        bench.message('empty', { body: Buffer.alloc(0) }),
        bench.message('large', { body: large }),
      ]
      assert.deepEqual(await bench.publish(...messages), ['confirmed', 'confirmed'])
      const bodies = new Map((await bench.received(2)).map(delivery => [idOf(delivery), delivery.body]))
      assert.equal(bodies.get('empty')?.length, 0)
      assert.ok(bodies.get('large')?.equals(large), 'the bytes of the large body')
    },
  },
  {
    name: 'no messages, no answers, and no connection is needed for that',
    async run(bench) {
      const { publisher } = bench.under
      assert.deepEqual(
        await bounded(
          'an empty batch',
          publisher.publish([], () => true),
        ),
        [],
      )
    },
  },
  {
    name: 'a message for an unknown destination is refused, and its neighbours are confirmed',
    async run(bench) {
      const answers = await bench.publish(
        bench.message('before'),
        bench.message('nowhere', bench.under.unknown),
        bench.message('after'),
      )
      assert.deepEqual([answers[0], answers[2]], ['confirmed', 'confirmed'])
      assert.ok(answers[1] instanceof Error, `the answer is ${answers[1]}`)
      await bench.expectOnly('before', 'after')
    },
  },
  {
    name: 'a message that is too large is refused, and its neighbours are confirmed',
    needs: ['size limit'],
    async run(bench) {
      const body = Buffer.alloc(bench.under.tooLargeBytes!)
      const answers = await bench.publish(
        bench.message('before'),
        bench.message('huge', { body }),
        bench.message('after'),
      )
      assert.deepEqual([answers[0], answers[2]], ['confirmed', 'confirmed'])
      assert.ok(answers[1] instanceof Error, `the answer is ${answers[1]}`)
      await bench.expectOnly('before', 'after')
    },
  },
  {
    name: 'the messages of a key arrive in order, among messages of other keys',
    async run(bench) {
      const messages = Array.from({ length: 60 }, (_, n) =>
        bench.message(`${n % 3}-${n}`, { key: `k${n % 3}` }),
      )
      await bench.publishAll(messages)
      const received = (await bench.received(60)).map(idOf)
      for (const line of ['0', '1', '2']) {
        const ofLine = (id: string) => id.startsWith(`${line}-`)
        assert.deepEqual(received.filter(ofLine), messages.map(one => one.messageId).filter(ofLine))
      }
    },
  },
  {
    name: 'behind a refused message of its key none is stored; other keys are',
    needs: ['size limit'],
    async run(bench) {
      const body = Buffer.alloc(bench.under.tooLargeBytes!)
      const answers = await bench.publish(
        bench.message('first', { key: 'k' }),
        bench.message('refused', { key: 'k', body }),
        bench.message('later', { key: 'k' }),
        bench.message('other', { key: 'o' }),
      )
      assert.ok(answers[1] !== 'confirmed', 'the refused message was confirmed')
      assert.ok(answers[2] !== 'confirmed', 'a message overtook the refused one of its key')
      const stored = ['first', 'refused', 'later', 'other'].filter(
        (_, index) => answers[index] === 'confirmed',
      )
      assert.ok(stored.includes('first') && stored.includes('other'), `only ${stored} were confirmed`)
      await bench.expectOnly(...stored)
    },
  },
  {
    name: 'when the connection is cut every confirmed message is there, and the others can be published again',
    needs: ['lost connection'],
    async run(bench) {
      const { under } = bench
      assert.deepEqual(await bench.publish(bench.message('before')), ['confirmed'])
      const messages = Array.from({ length: 200 }, (_, n) =>
        bench.message(`m${n}`, { body: Buffer.alloc(8_192) }),
      )
      const publishing = bounded('publishing over a cut connection', bench.publish(...messages))
      await under.disconnect!()
      const answers = await publishing
      const confirmed = messages.filter((_, index) => answers[index] === 'confirmed')
      await bench.publishAll(messages.filter((_, index) => answers[index] !== 'confirmed'))
      const ids = (await bench.receivedUntil(messages.map(one => one.messageId))).map(idOf)
      for (const { messageId } of confirmed)
        assert.equal(ids.filter(id => id === messageId).length, 1, `${messageId} was confirmed once`)
    },
  },
  {
    name: 'close is bounded, may be called twice, and afterwards no message is confirmed',
    async run(bench) {
      const { publisher } = bench.under
      assert.deepEqual(await bench.publish(bench.message('before')), ['confirmed'])
      await bounded('close', publisher.close())
      await bounded('a second close', publisher.close())
      const [answer] = await bounded('publishing after close', bench.publish(bench.message('after')))
      assert.ok(answer instanceof Error, `the answer after close is ${answer}`)
    },
  },
  {
    name: 'close ends a call in progress, and what it confirmed is there',
    async run(bench) {
      const { publisher } = bench.under
      assert.deepEqual(await bench.publish(bench.message('before')), ['confirmed'])
      const messages = Array.from({ length: 50 }, (_, n) => bench.message(`m${n}`))
      const publishing = bench.publish(...messages)
      await bounded('close', publisher.close())
      const answers = await bounded('the call in progress', publishing)
      const confirmed = messages.filter((_, index) => answers[index] === 'confirmed')
      await bench.receivedUntil(['before', ...confirmed.map(({ messageId }) => messageId)])
    },
  },
]
