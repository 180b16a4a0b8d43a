import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { StandardSchemaV1 } from '@standard-schema/spec'
import fc from 'fast-check'
import { z } from 'zod'
import type { ConsumerContract } from '../../src/contract/contract.ts'
import { defineConsumer } from '../../src/contract/define-consumer.ts'
import { createMessageReader } from '../../src/message/read-message.ts'
import type { Received } from '../../src/message/received.ts'
import { bytesKey, unreadKiller } from '../../src/message/unreadable-message.ts'
import type { Delivery } from '../../src/ports/source.ts'
import { deliveryOf } from './received.ts'

interface Message {
  readonly id?: unknown
  readonly [name: string]: unknown
}

function readerOf(changes: Partial<ConsumerContract<Message, unknown>> = {}) {
  const read = createMessageReader<Message, unknown>(
    defineConsumer<Message, unknown>({
      name: 'reader',
      owner: 'unit',
      risk: 'low value',
      source: { kind: 'unit' },
      identity: { id: m => m.id as string },
      handle() {},
      ...changes,
    }),
  )
  return (body: unknown, delivery: Partial<Delivery> = {}) =>
    read(deliveryOf(Buffer.isBuffer(body) ? body : JSON.stringify(body), delivery)) as Received<Message>
}

const problemOf = (received: Received) => (received.readable ? null : received.problem.kind)

describe('reading a message', () => {
  test('returns the decoded value, its identities and the digest of its bytes', () => {
    const read = readerOf({
      identity: {
        id: m => m.id as string,
        eventId: { header: 'event' },
        correlationId: { property: 'correlationId' },
      },
    })
    const received = read(
      { id: 'a' },
      { headers: { event: Buffer.from('e1') }, properties: { correlationId: 'c', type: 't', appId: 'p' } },
    )
    assert.ok(received.readable)
    assert.deepEqual(received.message, { id: 'a' })
    const { id, eventId, correlationId, type, producer, businessKey } = received.envelope
    assert.deepEqual(
      [id, eventId, correlationId, type, producer, businessKey],
      ['a', 'e1', 'c', 't', 'p', null],
    )
    assert.equal(received.digest.length, 33)
  })

  test('refuses types and versions the contract does not list, before the schema is called', () => {
    const read = readerOf({
      identity: {
        id: m => m.id as string,
        type: m => m.type as string,
        schemaVersion: { header: 'version' },
      },
      message: { schema: z.object({ id: z.string() }), types: ['paid'], versions: { min: 2, max: 3 } },
    })
    const kinds = (body: object, version: unknown) => problemOf(read(body, { headers: { version } }))
    assert.equal(kinds({ id: 'a', type: 'paid' }, '2'), null)
    assert.equal(kinds({ id: 'a', type: 'paid' }, 3), null)
    assert.equal(kinds({ id: 'a', type: 'refunded' }, '2'), 'unknown type')
    assert.equal(kinds({ id: 'a' }, '2'), 'unknown type')
    assert.equal(kinds({ id: 'a', type: 'constructor' }, '2'), 'unknown type')
    for (const version of ['1', '4', '2.5', '0x2', ' 2', '', undefined, {}, '9'.repeat(400)])
      assert.equal(kinds({ id: 7, type: 'paid' }, version), 'unsupported version', `version ${version}`)
    assert.equal(kinds({ id: 7, type: 'paid' }, '2'), 'invalid')
    assert.equal(problemOf(read('null')), 'unknown type')
    const stranger = read({ id: 'a', type: 'refunded' })
    assert.equal(stranger.id, 'a', 'its id is known, so it has a row of its own')
  })

  test('is synchronous unless the schema is not', async () => {
    assert.ok(!(readerOf({ message: z.object({ id: z.string() }) })({ id: 'a' }) instanceof Promise))
    const slow: StandardSchemaV1<unknown, Message> = {
      '~standard': { version: 1, vendor: 'unit', validate: async value => ({ value: value as Message }) },
    }
    const pending = readerOf({ message: slow })({ id: 'a' })
    assert.ok(pending instanceof Promise)
    assert.equal(((await pending) as Received).id, 'a')
  })

  test('uses the output of the schema', () => {
    const schema = z.object({ id: z.string().transform(id => `${id}!`) })
    const received = readerOf({ message: schema as never })({ id: 'a' })
    assert.equal(received.id, 'a!')
  })

  test('undoes a compression the delivery names', () => {
    const received = readerOf()(gzipSync('{"id":"a"}'), { properties: { contentEncoding: 'gzip' } })
    assert.equal(received.id, 'a')
  })

  test('reports business content that JSON would empty as malformed', () => {
    const identity = {
      id: (m: Message) => m.id as string,
      businessKey: (m: Message) => m.b as string,
      businessDigest: () => new Map([['amount', 5]]),
    }
    const received = readerOf({ identity })({ id: 'a', b: 'B' })
    assert.equal(problemOf(received), 'business key malformed')
    assert.match(received.readable ? '' : received.problem.text, /^businessDigest: .*Map/)
  })

  test('reads a key order’s key and a business key with its digest', () => {
    const read = readerOf({
      order: 'key',
      identity: {
        id: m => m.id as string,
        orderKey: m => m.k as string,
        businessKey: m => m.b as string,
        businessDigest: m => m.amount,
      },
    })
    const received = read({ id: 'a', k: 'K', b: 'B', amount: 5 })
    assert.ok(received.readable)
    assert.deepEqual([received.envelope.orderKey, received.envelope.businessKey], ['K', 'B'])
    assert.equal(received.businessDigest?.length, 33)
    assert.equal(problemOf(read({ id: 'a', b: 'B' })), 'order key missing')
    assert.equal(problemOf(read({ id: 'a', k: 'K' })), 'business key missing')
    assert.equal(problemOf(read({ id: 'a', k: ' K', b: 'B' })), 'order key malformed')
    assert.equal(problemOf(read({ id: 'a', k: 'K', b: 7.5 })), 'business key malformed')
  })

  test('an id in a header or property is known although the body cannot be read', () => {
    const garbage = Buffer.from('{')
    assert.equal(readerOf({ identity: { id: { header: 'id' } } })(garbage, { headers: { id: 'h' } }).id, 'h')
    const byProperty = readerOf({ identity: { id: { property: 'messageId' } } })
    assert.equal(byProperty(garbage, { properties: { messageId: 'p' } }).id, 'p')
    assert.equal(readerOf()(garbage).id, null)
  })

  test('an invalid message keeps its id, and names the place of the problem', () => {
    const received = readerOf({ message: z.object({ id: z.string(), amount: z.number() }) })({
      id: 'a',
      amount: 'x',
    })
    assert.ok(!received.readable)
    assert.equal(received.id, 'a')
    assert.match(received.problem.text, /^amount: /)
  })

  for (const [kind, received] of Object.entries({
    'id missing': readerOf()({}),
    'id malformed': readerOf()({ id: { a: 1 } }),
    undecodable: readerOf()(Buffer.from([0xff])),
    'over limit': readerOf({ message: { limits: { bytesMax: 10 } } })({ id: 'x'.repeat(20) }),
  })) {
    test(`${kind} is a problem, not an exception`, () => assert.equal(problemOf(received), kind))
  }

  describe('a tombstone', () => {
    const tombstone = { key: 'k', properties: { tombstone: true } } as const
    const none = Buffer.alloc(0)
    const handling = (changes: Partial<ConsumerContract<Message | null, unknown>> = {}) =>
      readerOf({
        message: { tombstones: 'handle', types: ['known'], schema: z.object({ id: z.string() }) },
        identity: { id: (message: Message | null, { key }) => (message?.id as string) ?? `gone ${key}` },
        ...changes,
      } as Partial<ConsumerContract<Message, unknown>>)

    test('is a message without a body where the contract handles it', () => {
      const received = handling()(none, tombstone)
      assert.ok(received.readable)
      assert.deepEqual([received.message, received.id, received.envelope.key], [null, 'gone k', 'k'])
    })

    test('is set aside by name where it does not, with the id that needs no body', () => {
      const received = readerOf({ identity: { id: { header: 'id' } } })(none, {
        ...tombstone,
        headers: { id: 'h' },
      })
      assert.deepEqual([problemOf(received), received.id], ['tombstone', 'h'])
    })

    test('without an id is reported with the possible sources of one', () => {
      const received = handling({ identity: { id: m => m!.id as string } })(none, tombstone)
      assert.ok(!received.readable)
      assert.match(received.problem.text, /no body: read it from the record key/)
    })

    test('has neither the digest of an empty body nor that of another key', () => {
      const digests = [
        handling()(none, tombstone),
        handling()(none, { ...tombstone, key: 'other' }),
        handling()(none, { key: 'k' }),
      ].map(({ digest }) => digest.toString('hex'))
      assert.equal(new Set(digests).size, 3)
      assert.ok(digests[0]!.startsWith('02') && digests[2]!.startsWith('01'))
    })

    test('is a message again after a fix that added a body', () => {
      const received = handling({ message: { tombstones: 'handle' } })({ id: 'a' }, tombstone)
      assert.ok(received.readable)
      assert.equal(received.id, 'a')
    })
  })

  describe('headers that throw when they are read', () => {
    const hostile = new Proxy(
      {},
      {
        ownKeys() {
          throw new TypeError('no keys')
        },
        get(_target, name) {
          if (name === 'id') return 'h'
          throw new TypeError('no values')
        },
      },
    )
    const identity = { id: { header: 'id' } } as const

    test('make only their message unreadable', () => {
      const received = readerOf({ identity, message: { digestHeaders: ['x'] } })({}, { headers: hostile })
      assert.ok(!received.readable)
      assert.deepEqual([received.problem.kind, received.id], ['undecodable', 'h'])
      assert.match(received.problem.text, /reading failed: TypeError: no keys/)
    })

    test('do not prevent an attempt from being recorded', () => {
      const consumer = defineConsumer<Message, unknown>({
        name: 'reader',
        owner: 'unit',
        risk: 'low value',
        source: { kind: 'unit' },
        identity,
        message: { digestHeaders: ['x'] },
        handle() {},
      })
      const delivery = deliveryOf('{}', { headers: hostile })
      assert.match(bytesKey(consumer, delivery), /^ bytes [0-9a-f]{66}$/)
      assert.equal(bytesKey(consumer, delivery), bytesKey(consumer, { ...delivery, redelivered: true }))
      assert.notEqual(bytesKey(consumer, delivery), bytesKey(consumer, { ...delivery, position: 'log@7' }))
      assert.equal(unreadKiller(consumer, delivery, { attempts: 5, deaths: 5 }).id, 'h')
    })
  })

  test('a schema that throws makes the message invalid', () => {
    const throwing: StandardSchemaV1<unknown, Message> = {
      '~standard': {
        version: 1,
        vendor: 'unit',
        validate: () => {
          throw new Error('schema broke')
        },
      },
    }
    const received = readerOf({ message: throwing })({ id: 'a' })
    assert.equal(problemOf(received), 'invalid')
  })

  test('reading never throws, with any bytes and headers', () => {
    const all = (m: Message) => m.fact as string
    const read = readerOf({
      message: { digestHeaders: ['h'] },
      identity: {
        id: m => m.id as string,
        eventId: all,
        aggregateId: all,
        type: all,
        producer: { header: 'h' },
        schemaVersion: all,
      },
    })
    const hostile = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom({ toString: 1, valueOf: 1 }, { toString: 'x' }, [[]], { length: 5 }),
    )
    fc.assert(
      fc.property(hostile, hostile, fc.uint8Array(), (fact, header, bytes) => {
        read({ id: 'a', fact }, { headers: { h: header } })
        read(Buffer.from(bytes), { headers: { h: header } })
      }),
      { numRuns: 300 },
    )
  })
})
