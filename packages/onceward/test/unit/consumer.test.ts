import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { OncewardError, retryAfter } from 'onceward'
import { until } from 'onceward/testing'
import type { OpenOptions } from '../../src/ports/source.ts'
import { ConsumerRig, type NoteContext } from './consumer-rig.ts'

const never = () => new Promise<void>(() => {})
const unauthorised = () => {
  throw Object.assign(new Error('401'), { status: 401 })
}

describe('a consumer that cannot work', () => {
  test('halts on a configuration error where the contract says so, and settles nothing', async () => {
    const rig = new ConsumerRig()
    rig.publish({ id: 'a' }, { id: 'b' })
    const one = await rig.start({
      failure: { policies: { configuration: { terminal: 'halted' } } },
      handle: ({ message, tx }) => (message.id === 'b' ? unauthorised() : rig.apply(tx, message.id)),
    })
    await assert.rejects(one.finished, { code: 'consumer_halted' })
    assert.equal(one.state, 'halted')
    assert.equal(rig.queue.unsettled, 2)
    assert.deepEqual(rig.applied, {})
    assert.equal(rig.store.runsClosed, 1, 'what concerns every message is held against none')
    assert.deepEqual(rig.store.halts, [])
    rig.expectLogged('error', /halted, nothing settled/)
  })

  test('halts when the store refuses what it needs', async () => {
    const rig = new ConsumerRig()
    rig.store.trouble = 'configuration'
    rig.publish({ id: 'a' })
    const one = await rig.start()
    await assert.rejects(one.finished, /Nothing was settled and nothing is lost/)
    assert.equal(rig.queue.unsettled, 1)
  })

  test('does not start where the source cannot keep the declared order', async () => {
    const rig = new ConsumerRig()
    Object.assign(rig.queue, {
      capabilities: { ...rig.queue.capabilities, order: { key: false, partition: false } },
    })
    const one = rig.process({ order: 'key', identity: { id: m => m.id, orderKey: m => m.key } })
    await assert.rejects(one.start(), { code: 'configuration' })
  })

  test('closes its run when the source cannot be opened: it is no crash', async () => {
    const rig = new ConsumerRig()
    const one = rig.process()
    Object.assign(rig.queue, { open: () => Promise.reject(new Error('no such queue')) })
    await assert.rejects(one.start(), /no such queue/)
    assert.equal(rig.store.runsClosed, 1)
  })

  for (const how of ['halted', 'stopped at once'] as const)
    test(`does not start when it was ${how} while its source was being opened`, async () => {
      const rig = new ConsumerRig()
      const opening = Promise.withResolvers<void>()
      const { open } = rig.queue
      let isOpening = false
      Object.assign(rig.queue, {
        open: async (...options: Parameters<typeof open>) => {
          isOpening = true
          await opening.promise
          return open.apply(rig.queue, options)
        },
      })
      rig.publish({ id: 'a' })
      const changed = new OncewardError('server_changed', 'another copy')
      let beats = 0
      const suspects = {
        ...rig.store.memory.suspects,
        beat: async () => (++beats > 1 ? Promise.reject(changed) : []),
      }
      Object.assign(rig.store, { suspects })
      const one = rig.process()
      const started = one.start()
      started.catch(() => {})
      await until('it opens its source', () => isOpening)
      if (how === 'halted') {
        rig.env.advance(2_000)
        await assert.rejects(one.finished, changed)
      } else one.leave()
      opening.resolve()
      await assert.rejects(started, how === 'halted' ? changed : /stopped at once/)
      assert.equal(one.state, how === 'halted' ? 'halted' : 'stopped')
      assert.deepEqual(rig.handled, [])
      assert.deepEqual(rig.store.halts, [])
    })

  test('ends with a source that reached its end before the consumer was registered as its reader', async () => {
    const rig = new ConsumerRig()
    const registered = Promise.withResolvers<void>()
    Object.assign(rig.store, {
      registry: { registerBroker: async () => {}, registerReader: () => registered.promise },
    })
    const { open } = rig.queue
    let isEnded = false
    Object.assign(rig.queue, {
      open: async (options: OpenOptions) => {
        const opened = await open.call(rig.queue, options)
        options.onEvent({ kind: 'ended', reason: 'every record has been read' })
        rig.env.timers.soon(() => {
          isEnded = true
        })
        return opened
      },
    })
    const one = rig.process()
    const started = one.start()
    await until('what the event deferred has run', () => isEnded)
    registered.resolve()
    await started
    await one.finished
    assert.equal(one.state, 'stopped')
  })

  test('halts when a handler names an external target the contract does not declare', async () => {
    const rig = new ConsumerRig()
    rig.publish({ id: 'a' })
    const one = await rig.start({
      handle: ({ effects }) => effects.external('gatway', { key: 'k', body: 1 }),
    })
    await assert.rejects(one.finished, /gatway/)
    assert.equal(rig.queue.unsettled, 1)
  })
})

describe('an unavailable store', () => {
  test('settles nothing, counts no attempt, and continues automatically', async () => {
    const rig = new ConsumerRig()
    rig.store.trouble = 'unavailable'
    rig.publish({ id: 'a' })
    const one = await rig.start()
    await rig.env.advance(60_000)
    assert.equal(one.state, 'running')
    assert.equal(one.tally.storeUnavailable, true)
    assert.equal(rig.queue.unsettled, 1)
    assert.ok(rig.store.pings >= 10, `asked ${rig.store.pings} times in a minute`)
    rig.expectLogged('warn', /store unavailable, nothing settled/)
    rig.store.trouble = null
    await rig.env.advance(5_000)
    assert.deepEqual(rig.applied, { a: 1 })
    assert.equal(rig.queue.unsettled, 0)
    assert.equal(rig.store.memory.committed.attempts.size, 0)
    rig.expectLogged('info', /store available again/)
  })

  test('receives no more than the batches in flight meanwhile', async () => {
    const rig = new ConsumerRig()
    rig.store.trouble = 'unavailable'
    rig.publish(...Array.from({ length: 50 }, (_, index) => ({ id: `m${index}` })))
    const one = await rig.start({ batch: { sizeMax: 5, inFlightMax: 2 } })
    await rig.env.advance(30_000)
    assert.ok(one.tally.delivered <= 15, `${one.tally.delivered} deliveries taken`)
    rig.store.trouble = null
    await rig.env.advance(10_000)
    assert.equal(Object.keys(rig.applied).length, 50)
  })

  test('lets a drain end: unfinished deliveries are returned', async () => {
    const rig = new ConsumerRig()
    rig.store.trouble = 'unavailable'
    rig.publish({ id: 'a' })
    const one = await rig.start()
    await rig.env.advance(1_000)
    const drained = one.drain()
    await rig.env.advance(29_000)
    await drained
    assert.equal(one.state, 'stopped')
    assert.equal(rig.queue.unsettled, 1)
  })

  test('drops deliveries that the broker has taken back meanwhile, and handles their redelivery', async () => {
    const rig = new ConsumerRig()
    rig.store.trouble = 'unavailable'
    rig.publish({ id: 'a' })
    await rig.start()
    await rig.env.advance(100)
    rig.queue.disconnect()
    rig.store.trouble = null
    await rig.env.advance(10_000)
    assert.deepEqual(rig.applied, { a: 1 })
    assert.deepEqual(rig.handled, ['a'])
    assert.equal(rig.queue.unsettled, 0)
  })

  test('messages behind one that the broker has taken back leave with it, so that order holds', async () => {
    const rig = new ConsumerRig()
    rig.store.trouble = 'unavailable'
    rig.publish({ id: 'a', key: 'k' }, { id: 'b', key: 'k' })
    await rig.start({
      order: 'key',
      identity: { id: note => note.id, orderKey: note => note.key },
      batch: { sizeMax: 1 },
    })
    await rig.env.advance(100)
    rig.queue.disconnect()
    rig.store.trouble = null
    await rig.env.advance(10_000)
    assert.deepEqual(rig.handled, ['a', 'b'])
    assert.equal(rig.queue.unsettled, 0)
  })

  test('a held lock is waited for, without an attempt', async () => {
    const rig = new ConsumerRig()
    rig.store.trouble = 'lock wait'
    rig.publish({ id: 'a' })
    const one = await rig.start({ failure: { attemptsMax: 1 } })
    await rig.env.advance(20_000)
    assert.equal(one.state, 'running')
    rig.store.trouble = null
    await rig.env.advance(10_000)
    assert.deepEqual(rig.applied, { a: 1 })
    rig.expectLogged('warn', /waiting for a lock/)
  })

  test('a lock held for long is not blamed on an unreadable message', async () => {
    const rig = new ConsumerRig()
    rig.store.trouble = 'lock wait'
    rig.queue.publish({ body: '{ no json' })
    const one = await rig.start()
    await rig.env.advance(60_000)
    assert.equal(one.state, 'running')
    rig.store.trouble = null
    await rig.env.advance(10_000)
    assert.deepEqual(one.tally.outcomes, { quarantined: 1 })
  })

  test('contention is retried at once and is no attempt of the message', async () => {
    const rig = new ConsumerRig()
    rig.store.trouble = 'contention'
    rig.publish({ id: 'a' })
    await rig.start({ failure: { attemptsMax: 1 } })
    await rig.env.advance(300)
    assert.ok(rig.store.transactions > 3)
    rig.store.trouble = null
    await rig.env.advance(1_000)
    assert.deepEqual(rig.applied, { a: 1 })
    assert.equal(rig.store.memory.committed.attempts.size, 0)
  })
})

describe('stopping', () => {
  test('a drain receives nothing new and returns messages that wait for a retry', async () => {
    const rig = new ConsumerRig()
    rig.publish({ id: 'a' })
    const one = await rig.start({ handle: () => retryAfter(5_000) })
    await rig.env.turn()
    assert.equal(one.tally.held, 1)
    await one.drain()
    assert.equal(one.state, 'stopped')
    assert.equal(rig.queue.unsettled, 1)
    assert.equal(rig.store.runsClosed, 1)
    assert.deepEqual(rig.env.due, [], 'no timer outlives the consumer')
    rig.publish({ id: 'b' })
    await rig.env.advance(60_000)
    assert.equal(rig.queue.unsettled, 2)
  })

  test('a drain past its deadline leaves, and only then', async () => {
    const rig = new ConsumerRig()
    rig.publish({ id: 'a' })
    const one = await rig.start({ handle: never, batch: { handlerTimeoutMs: 60_000 } })
    await rig.env.turn()
    const drained = one.drain(7_000)
    await rig.env.advance(6_999)
    assert.equal(one.state, 'draining')
    await rig.env.advance(1)
    await drained
    assert.equal(one.state, 'stopped')
    assert.equal(rig.queue.unsettled, 1)
    assert.deepEqual(rig.env.reached.slice(-1), ['drain.begun'])
  })

  test('leaving aborts the handler’s signal and commits nothing it wrote', async () => {
    const rig = new ConsumerRig()
    const reasons: unknown[] = []
    rig.publish({ id: 'a' })
    const one = await rig.start({
      async handle({ message, tx, signal }: NoteContext) {
        rig.apply(tx, message.id)
        await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
        reasons.push(signal.reason)
      },
    })
    await rig.env.turn()
    one.leave()
    await one.finished
    await rig.env.turn()
    assert.equal(reasons.length, 1)
    assert.deepEqual(rig.applied, {})
    assert.equal(rig.queue.unsettled, 1)
    assert.equal(rig.store.memory.committed.attempts.size, 0, 'leaving is no failed attempt')
  })

  test('a second stop changes nothing', async () => {
    const rig = new ConsumerRig()
    const one = await rig.start()
    await Promise.all([one.drain(), one.drain()])
    await one.drain()
    one.leave()
    assert.equal(one.state, 'stopped')
  })
})

describe('time', () => {
  test('a handler past its time is aborted, rolled back and tried again', async () => {
    const rig = new ConsumerRig()
    let calls = 0
    rig.publish({ id: 'a' })
    await rig.start({
      batch: { handlerTimeoutMs: 2_000 },
      handle: ({ message, tx }) => {
        rig.apply(tx, message.id)
        return calls++ === 0 ? never() : undefined
      },
    })
    await rig.env.advance(2_000)
    const [attempt] = [...rig.store.memory.committed.attempts.values()].flat()
    assert.deepEqual([attempt?.code, attempt?.failureClass], ['handler_timeout', 'transient'])
    assert.match(attempt!.error, /did not return within 2000 ms/)
    await rig.env.advance(1_000)
    assert.deepEqual(rig.applied, { a: 1 })
  })

  test('a retry waits for its delay, and the delivery stays unsettled', async () => {
    const rig = new ConsumerRig()
    let calls = 0
    rig.publish({ id: 'a' }, { id: 'b' })
    const one = await rig.start({
      handle: ({ message, tx }) =>
        message.id === 'a' && calls++ === 0 ? retryAfter(3_000) : rig.apply(tx, message.id),
    })
    await rig.env.advance(2_999)
    assert.deepEqual(rig.applied, { b: 1 })
    assert.equal(rig.queue.unsettled, 1)
    assert.equal(one.tally.held, 1)
    await rig.env.advance(1)
    assert.deepEqual(rig.applied, { a: 1, b: 1 })
    assert.equal(rig.queue.unsettled, 0)
  })

  test('a retry whose delivery was taken back waits for the redelivery', async () => {
    const rig = new ConsumerRig()
    let calls = 0
    rig.publish({ id: 'a' })
    await rig.start({
      handle: ({ message, tx }) => (calls++ === 0 ? retryAfter(3_000) : rig.apply(tx, message.id)),
    })
    await rig.env.turn()
    rig.queue.disconnect()
    await rig.env.advance(10_000)
    assert.deepEqual(rig.applied, { a: 1 })
    assert.deepEqual(rig.handled, ['a'])
  })
})

describe('counting', () => {
  test('deliveries, outcomes and conflicts are counted', async () => {
    const rig = new ConsumerRig()
    rig.publish({ id: 'a' }, { id: 'a' }, { id: 'b' }, { id: 'b', key: 'other' })
    await rig.start()
    await rig.env.turn()
    const { counted } = rig.env
    assert.equal(counted.get('deliveries'), 4)
    assert.equal(counted.get('outcomes applied'), 2)
    assert.equal(counted.get('outcomes duplicate'), 1)
    assert.equal(counted.get('outcomes quarantined'), 1)
    assert.equal(counted.get('conflicts'), 1)
  })

  test('external effects of another mode are counted as suppressed', async () => {
    const rig = new ConsumerRig()
    rig.publish({ id: 'a' })
    const handle = ({ effects }: NoteContext) => effects.external('gateway', { key: 'k', body: 1 })
    await rig.start(
      { effect: { external: { gateway: { url: 'https://gateway.invalid/' } } }, handle },
      'rebuild',
    )
    await rig.env.turn()
    assert.equal(rig.env.counted.get('suppressed mode'), 1)
    assert.equal(rig.store.memory.committed.intents.size, 0)
  })

  test('a batch in which a message is a copy of a copy takes one transaction', async () => {
    const rig = new ConsumerRig()
    rig.publish({ id: 'a', key: 'k' }, { id: 'b', key: 'k' }, { id: 'b', key: 'k' })
    await rig.start({ identity: { id: m => m.id, businessKey: m => m.key } })
    await rig.env.turn()
    assert.deepEqual(rig.applied, { a: 1 })
    assert.equal(rig.store.transactions, 1)
  })
})

test('a message that failed is not set aside before an earlier one of its key that fails after it', async () => {
  const rig = new ConsumerRig()
  rig.publish({ id: 'a', key: 'k' }, { id: 'b', key: 'k' })
  let calls = 0
  const one = await rig.start({
    order: 'key',
    identity: { id: note => note.id, orderKey: note => note.key },
    failure: { delayMs: 1 },
    handle: ({ message, tx }) => {
      rig.apply(tx, message.id)
      if (message.id === 'b') throw Object.assign(new Error('refused'), { code: '23505' })
      if (++calls === 2) throw new Error('only in the round without b')
    },
  })
  await rig.env.advance(1_000)
  assert.deepEqual(rig.applied, { a: 1 })
  assert.deepEqual(one.tally.outcomes, { retry: 2, applied: 1, parked: 1 })
  assert.equal(rig.queue.unsettled, 0)
})

test('a lane of slow handlers is cut by elapsed time: the rest waits for the next batch, uncounted and in order', async () => {
  const rig = new ConsumerRig()
  const order: string[] = []
  rig.publish(...['a', 'b', 'c', 'd', 'e'].map(id => ({ id, key: 'k' })))
  await rig.start({
    order: 'key',
    identity: { id: m => m.id, orderKey: m => m.key },
    failure: { attemptsMax: 1 },
    async handle({ message }: NoteContext) {
      await rig.env.advance(600)
      order.push(message.id)
    },
  })
  await rig.env.turn()
  await until('all are applied', async () => {
    await rig.env.advance(1)
    return order.length === 5
  })
  assert.deepEqual(order, ['a', 'b', 'c', 'd', 'e'])
  assert.equal(rig.store.memory.committed.held.size, 0)
  assert.ok(rig.store.transactions > 1, 'more than one batch was needed')
})

test('the crash points of a batch are passed in order', async () => {
  const rig = new ConsumerRig()
  rig.publish({ id: 'a' })
  await rig.start()
  await rig.env.turn()
  const expected = ['received', 'claimed', 'applied', 'concluded', 'committed', 'settled']
  assert.deepEqual(
    rig.env.reached,
    expected.map(name => `batch.${name}`),
  )
})
