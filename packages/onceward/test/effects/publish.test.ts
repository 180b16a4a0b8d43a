import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type ConsumerContract, defineConsumer, OncewardError, park, stableId } from 'onceward'
import { publishInTransaction } from 'onceward/outbox'
import { until } from 'onceward/testing'
import { ConsumerRig } from '../unit/consumer-rig.ts'

const publish = {
  captured: { broker: 'kafka', topic: 'captures' },
  told: { broker: 'rabbitmq', exchange: 'events', routingKey: 'told' },
} as const satisfies NonNullable<ConsumerContract['effect']>['publish']

const outbox = (rig: ConsumerRig) =>
  rig.store.memory.committed.outbox.map(({ headers, properties, body, ...rest }) => ({
    ...rest,
    headers: JSON.parse(headers),
    properties: JSON.parse(properties),
    body: body.toString(),
  }))

async function applied(rig: ConsumerRig, count: number): Promise<void> {
  await until('all are handled', async () => {
    await rig.env.advance(10)
    return Object.keys(rig.applied).length === count
  })
}

describe('effects.publish', () => {
  test('writes to the outbox with the effect, under an id made of its causes', async () => {
    const rig = new ConsumerRig()
    const one = await rig.start({
      effect: { publish },
      identity: { id: m => m.id, correlationId: () => 'c-1' },
      handle: ({ message, tx, effects }) => {
        rig.apply(tx, message.id)
        effects.publish('captured', {
          key: 'k',
          body: { of: message.id },
          type: 'Captured',
          headers: { n: 1 },
        })
        effects.publish('captured', { body: Buffer.from([1, 2]) })
        effects.publish('told', { body: null, id: 'given', correlationId: 'other' })
      },
    })
    rig.publish({ id: 'a' })
    await applied(rig, 1)
    const kafka = { broker: 'kafka', exchange: null, queue: 'captures' }
    const json = { contentType: 'application/json', correlationId: 'c-1' }
    const bytes = { contentType: 'application/octet-stream', correlationId: 'c-1' }
    assert.deepEqual(outbox(rig), [
      {
        ...kafka,
        messageId: stableId('notes', 'a', 'captured', 0),
        key: 'k',
        headers: { n: 1 },
        properties: { ...json, type: 'Captured' },
        body: '{"of":"a"}',
      },
      {
        ...kafka,
        messageId: stableId('notes', 'a', 'captured', 1),
        key: null,
        headers: {},
        properties: bytes,
        body: '\u0001\u0002',
      },
      {
        broker: 'rabbitmq',
        exchange: 'events',
        queue: 'told',
        messageId: 'given',
        key: null,
        headers: {},
        properties: { ...json, correlationId: 'other' },
        body: 'null',
      },
    ])
    await one.drain()
  })

  test('from a batch handler: in the order of the batch, and nothing for those with a verdict', async () => {
    const rig = new ConsumerRig()
    const one = await rig.start({
      effect: { publish },
      async handleBatch({ batch, tx }) {
        const verdicts = new Map()
        for (const item of batch) {
          item.effects.publish('captured', { body: item.message.id })
          if (item.message.id === 'b') verdicts.set(item, park('not this one'))
          else rig.apply(tx, item.message.id)
        }
        return verdicts
      },
    })
    rig.publish({ id: 'a' }, { id: 'b' }, { id: 'c' })
    await applied(rig, 2)
    assert.deepEqual(
      outbox(rig).map(({ body }) => body),
      ['"a"', '"c"'],
    )
    await one.drain()
  })

  test('a duplicate publishes nothing', async () => {
    const rig = new ConsumerRig()
    const one = await rig.start({
      effect: { publish },
      handle: ({ message, tx, effects }) => {
        rig.apply(tx, message.id)
        effects.publish('captured', { body: message.id })
      },
    })
    rig.publish({ id: 'a' }, { id: 'a' })
    await applied(rig, 1)
    rig.publish({ id: 'a' })
    await until('all are settled', async () => {
      await rig.env.advance(10)
      return rig.queue.unsettled === 0 && one.tally.outcomes.duplicate === 2
    })
    assert.equal(outbox(rig).length, 1)
    await one.drain()
  })

  for (const mode of ['replay', 'rebuild'] as const)
    test(`in ${mode} it is suppressed and counted`, async () => {
      const rig = new ConsumerRig()
      const handle: ConsumerContract<{ id: string }, Map<string, unknown>>['handle'] = ({
        message,
        tx,
        effects,
      }) => {
        rig.apply(tx, message.id)
        effects.publish('captured', { body: message.id })
      }
      const one = await rig.start({ effect: { publish }, handle }, mode)
      rig.publish({ id: 'a' }, { id: 'b' })
      await applied(rig, 2)
      assert.deepEqual(outbox(rig), [])
      assert.equal(rig.env.counted.get('publishSuppressed'), 2)
      await one.drain()
    })

  test('an undeclared target, a bad key and an invalid body are the handler’s failures, by name', async () => {
    const wrong: [string, object, RegExp][] = [
      ['capturd', { body: 1 }, /effect\.publish\.capturd/],
      ['toString', { body: 1 }, /effect\.publish\.toString/],
      ['captured', { body: 1, key: 'a\0b' }, /key must be well-formed/],
      ['captured', { body: undefined }, /body of undefined/],
      ['captured', { body: 1, id: ' ' }, /blank/],
    ]
    for (const [target, request, text] of wrong) {
      const rig = new ConsumerRig()
      let error: Error | null = null
      const one = await rig.start({
        effect: { publish },
        handle: ({ message, tx, effects }) => {
          try {
            effects.publish(target, request as never)
          } catch (thrown) {
            error = thrown as Error
          }
          rig.apply(tx, message.id)
        },
      })
      rig.publish({ id: 'a' })
      await applied(rig, 1)
      assert.match(String(error), text)
      assert.deepEqual(outbox(rig), [])
      await one.drain()
    }
  })
})

describe('targets are checked before anything starts', () => {
  const refusals: [string, object, RegExp][] = [
    ['no broker', { topic: 't' }, /effect\.publish\.out\.broker: must be one of 'kafka'/],
    ['an unknown broker', { broker: 'nats', topic: 't' }, /out\.broker: must be one of/],
    ['Kafka without a topic', { broker: 'kafka' }, /out\.topic: must be a string/],
    ['Kafka with a queue', { broker: 'kafka', topic: 't', queue: 'q' }, /out\.queue: does not apply to/],
    ['an exchange without a routing key', { broker: 'rabbitmq', exchange: 'e' }, /out\.routingKey: must be/],
    ['RabbitMQ with nothing', { broker: 'rabbitmq' }, /out\.queue: must be a string/],
    ['a misspelt key', { broker: 'kafka', topik: 't', topic: 't' }, /did you mean 'topic'/],
    ['a text', 'captures' as never, /must be an object/],
  ]
  for (const [what, out, text] of refusals)
    test(what, () => {
      const define = () =>
        defineConsumer({
          name: 'x',
          owner: 'o',
          risk: 'low value',
          source: { kind: 'memory' },
          identity: { id: () => 'a' },
          effect: { publish: { out: out as never } },
          handle() {},
        })
      assert.throws(define, error => error instanceof OncewardError && text.test(error.message))
    })

  test('publishInTransaction refuses the same, and writes nothing', async () => {
    const tx = { query: () => assert.fail('nothing may be written') }
    await assert.rejects(
      publishInTransaction(tx, { broker: 'kafka' } as never, [{ id: 'a', body: 1 }]),
      /Nothing was written: target\.topic must be a string/,
    )
    await assert.rejects(
      publishInTransaction(tx, publish.captured, [{ id: 'a', body: 1 }, { body: 2 } as never]),
      /message 1: no id/,
    )
  })
})

test('stable ids are UUIDs that depend on every part', () => {
  const id = stableId('case-escalation', 'case-1', 3)
  assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  assert.equal(id, stableId('case-escalation', 'case-1', 3))
  assert.notEqual(id, stableId('case-escalation', 'case-1', '3'))
  assert.notEqual(stableId('a', 'bc'), stableId('ab', 'c'))
})

test('stable ids are refused where a part is missing: different things would share one', () => {
  for (const part of [undefined, null, Number.NaN, {}, []] as never[])
    assert.throws(
      () => stableId('case-escalation', 'case-1', part),
      /stableId needs .* part 3 is something else/,
    )
  assert.throws(() => (stableId as () => string)(), /stableId needs/)
})
