import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type BatchContext, type Codec, defineConsumer, jsonCodec, OncewardError } from 'onceward'
import type { MemoryTransaction } from 'onceward/memory'
import { until } from 'onceward/testing'
import type { MessageEncoder } from '../../src/contract/publish-target.ts'
import { encode } from '../../src/engine/batch/buffer-messages.ts'
import { decideOutcome, noAttempts } from '../../src/engine/batch/decide-outcome.ts'
import { decideTransform, endsAtOnce } from '../../src/engine/transform/decide-transform.ts'
import { createMessageReader } from '../../src/message/read-message.ts'
import { ConsumerRig, type Note, type NoteContext } from './consumer-rig.ts'

/** JSON that needs a registry: away, without the schema of some, or answering late. */
class Registry {
  away = false
  readonly unknown = new Set<string>()
  reads = 0
  readonly codec: Codec = {
    name: 'test',
    decode: async (bytes, limits, delivery) => {
      this.reads++
      if (this.away) throw new OncewardError('registry_unavailable', 'the registry is unavailable')
      const message = jsonCodec.decode(bytes, limits, delivery) as Note
      if (this.unknown.has(message.id))
        throw new OncewardError('schema_unknown', `no schema of ${message.id}`)
      return message
    },
  }
}

const failure = { attemptsMax: 1, breaker: { failuresMax: 5, pauseMs: 1_000, pauseMaxMs: 4_000 } }

describe('an asynchronous codec', () => {
  for (const order of ['none', 'key'] as const)
    test(`messages wait while its registry is unavailable, and one at a time is read again (order ${order})`, async () => {
      const registry = new Registry()
      registry.away = true
      const rig = new ConsumerRig()
      const changes = { order, message: { codec: registry.codec }, failure }
      const one = await rig.start(order === 'key' ? { ...changes, identity: keyed } : changes)
      for (const id of ['a', 'b', 'c']) rig.publish({ id, key: 'k' })
      await until('all were read', async () => {
        await rig.env.advance(1)
        return registry.reads >= 3 && one.tally.breaker === 'open'
      })
      const before = registry.reads
      const transactions = rig.store.transactions
      await rig.env.advance(1_100)
      await until('one asked again', () => registry.reads === before + 1)
      await rig.env.advance(1_000)
      assert.equal(registry.reads, before + 1, 'the second pause is longer')
      await rig.env.advance(1_100)
      await until('another one asked', () => registry.reads === before + 2)
      assert.equal(rig.store.transactions, transactions, 'no batch has begun')
      registry.away = false
      await until('all are applied', async () => {
        await rig.env.advance(1_000)
        return Object.keys(rig.applied).length === 3
      })
      assert.equal(one.tally.breaker, 'closed')
      assert.deepEqual(rig.store.memory.committed.held.size, 0)
      await one.drain()
    })

  test('a consumer stops while it waits, and returns its messages', async () => {
    const registry = new Registry()
    registry.away = true
    const rig = new ConsumerRig()
    const one = await rig.start({ message: { codec: registry.codec }, failure })
    rig.publish({ id: 'a' })
    await until('it waits', async () => {
      await rig.env.advance(1)
      return one.tally.breaker === 'open'
    })
    await one.drain()
    assert.deepEqual(rig.applied, {})
    registry.away = false
    const next = await rig.start({ message: { codec: registry.codec }, failure })
    await until('the next one applies it', async () => {
      await rig.env.advance(10)
      return Object.keys(rig.applied).length === 1
    })
    await next.drain()
  })

  test('a decode that does not end in time counts an attempt', async () => {
    const codec = { name: 'stuck', decode: () => new Promise(() => {}), waitMaxMs: 2_000 }
    const rig = new ConsumerRig()
    const one = await rig.start({ message: { codec }, failure, batch: { handlerTimeoutMs: 1_000 } })
    rig.publish({ id: 'a' })
    await rig.env.advance(2_500)
    assert.equal(rig.store.memory.committed.held.size, 0)
    await until('it is set aside', async () => {
      await rig.env.advance(500)
      return rig.store.memory.committed.held.size === 1
    })
    await one.drain()
  })
})

describe('an asynchronous encoder', () => {
  for (const calls of ['handle', 'handleBatch'] as const)
    test(`that does not end in time fails its message as a late handler does (${calls})`, async () => {
      const encoder: MessageEncoder = {
        name: 'test',
        encode: async body => {
          if ((body as Note).id === 'stuck') await new Promise(() => {})
          return { body: Buffer.from('x') }
        },
      }
      const rig = new ConsumerRig()
      const target = { broker: 'cdc', topic: 'notes', encoder } as const
      const publishing =
        calls === 'handle'
          ? {
              handle: ({ message, tx, effects }: NoteContext) => {
                rig.apply(tx, message.id)
                effects.publish('notes', { body: message })
              },
            }
          : {
              handleBatch: ({ batch, tx }: BatchContext<Note, MemoryTransaction>) => {
                for (const { message, effects } of batch) {
                  rig.apply(tx, message.id)
                  effects.publish('notes', { body: message })
                }
              },
            }
      const one = await rig.start({
        ...(publishing as object),
        effect: { publish: { notes: target } },
        failure,
        batch: { handlerTimeoutMs: 2_000 },
      })
      rig.publish({ id: 'stuck' }, { id: 'fine' })
      await until('one is applied, and one set aside', async () => {
        await rig.env.advance(100)
        return rig.applied.fine === 1 && rig.store.memory.committed.held.size === 1
      })
      assert.deepEqual(rig.applied, { fine: 1 })
      const [held] = [...rig.store.memory.committed.held.values()]
      assert.match(
        JSON.stringify(held, (_, value) => (typeof value === 'bigint' ? `${value}` : value)),
        /handler_timeout/,
      )
      await one.drain()
    })

  test('headers are those of the call', async () => {
    const encoder: MessageEncoder = { name: 'test', encode: async () => ({ body: Buffer.from('x') }) }
    const headers = { n: 1 }
    const encoded = encode({ broker: 'cdc', topic: 'notes', encoder }, { id: 'm', body: {}, headers })
    headers.n = 2
    assert.deepEqual((await encoded).headers, { n: 1 })
  })
})

const keyed = { id: (m: Note) => m.id, orderKey: (m: Note) => m.key! }

const contract = defineConsumer<Note, unknown>({
  name: 'notes',
  owner: 'unit',
  risk: 'low value',
  source: { kind: 'memory' },
  identity: { id: m => m.id },
  failure,
  handle: async () => {},
})

test('reading is synchronous with a synchronous codec', () => {
  const delivery = {
    ...{ body: Buffer.from('{"id":"a"}'), headers: {}, properties: {}, origin: 'q', position: null },
    ...{ partition: '', place: null, key: null, redelivered: false, deliveryCount: 0, token: null },
  }
  const received = createMessageReader(contract)(delivery)
  assert.ok(!(received instanceof Promise) && received.readable && received.id === 'a')
})

describe('decisions', () => {
  const policy = contract.failure
  const away = { kind: 'unreadable', problem: { kind: 'registry unavailable', text: 'away' } } as const
  const unknown = { kind: 'unreadable', problem: { kind: 'unknown schema', text: 'none' } } as const

  test('a registry that is unavailable is an outage, and ends the lane of a transform', () => {
    const { outcome, outage, attempts } = decideOutcome(away, noAttempts, policy)
    assert.deepEqual([outcome, outage, attempts], ['retry', true, 0])
    assert.equal(decideTransform(away, noAttempts, policy).outcome, 'retry')
    assert.equal(endsAtOnce(away, { ...policy, deadLetter: 'dead' }), false)
  })

  test('an unknown schema is parked, also where other unreadable bytes are not', () => {
    for (const unreadable of ['quarantined', 'dead-lettered'] as const) {
      const { outcome, code } = decideOutcome(unknown, noAttempts, { ...policy, unreadable })
      assert.deepEqual([outcome, code], ['parked', 'unknown_schema'])
    }
  })
})
