import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ConsumerContract } from 'onceward'
import { ConsumerRig, type Note } from './consumer-rig.ts'

const handlerTimeoutMs = 1_000
const attemptsMax = 3
const failure = { attemptsMax, delayMs: 100, delayMaxMs: 100 }

/** A schema that answers at once, except for id `slow`, whose nth reading answers only if `answers(n)`. */
function schemaThat(answers: (reading: number) => boolean) {
  let readings = 0
  const validate = (value: unknown): Promise<{ value: Note }> => {
    const late = (value as Note).id === 'slow' && !answers(++readings)
    return late ? new Promise(() => {}) : Promise.resolve({ value: value as Note })
  }
  const schema = { '~standard': { version: 1 as const, vendor: 'unit', validate } }
  return { message: schema as NonNullable<ConsumerContract<Note>['message']>, readings: () => readings }
}

describe('a schema that does not answer', () => {
  test('does not delay other messages', async () => {
    const rig = new ConsumerRig()
    rig.publish({ id: 'slow' }, { id: 'b' }, { id: 'c' })
    await rig.start({ message: schemaThat(() => false).message, batch: { handlerTimeoutMs } })
    await rig.env.advance(100)
    rig.publish({ id: 'd' })
    await rig.env.advance(100)
    assert.deepEqual(rig.applied, { b: 1, c: 1, d: 1 })
    assert.equal(rig.queue.unsettled, 1)
  })

  test('is a transient failure: counted, read again, applied when it does answer', async () => {
    const rig = new ConsumerRig()
    const { message, readings } = schemaThat(reading => reading === 3)
    rig.publish({ id: 'slow' })
    await rig.start({ message, failure, batch: { handlerTimeoutMs } })
    await rig.env.advance(handlerTimeoutMs)
    assert.equal(rig.store.memory.committed.attempts.size, 1)
    assert.equal(rig.queue.unsettled, 1)
    await rig.env.advance(2 * handlerTimeoutMs)
    assert.equal(readings(), 3)
    assert.deepEqual(rig.applied, { slow: 1 })
    assert.equal(rig.queue.unsettled, 0)
  })

  test('is parked when its attempts are used up, never dead-lettered as invalid', async () => {
    const rig = new ConsumerRig()
    const { message, readings } = schemaThat(() => false)
    rig.publish({ id: 'slow' })
    await rig.start({ message, failure, batch: { handlerTimeoutMs } })
    await rig.env.advance(10 * handlerTimeoutMs)
    assert.equal(readings(), attemptsMax)
    const [held] = rig.store.memory.committed.held.values()
    assert.deepEqual([held!.state, held!.code, held!.attempts], ['parked', 'validation_timeout', attemptsMax])
    assert.equal(rig.queue.unsettled, 0)
  })

  test('is quarantined where no id can be read, since its attempts cannot be counted', async () => {
    const rig = new ConsumerRig()
    rig.publish({ id: 'slow' })
    const identity = { id: () => undefined }
    await rig.start({ message: schemaThat(() => false).message, identity, batch: { handlerTimeoutMs } })
    await rig.env.advance(2 * handlerTimeoutMs)
    assert.equal([...rig.store.memory.committed.held.values()][0]?.state, 'quarantined')
    assert.equal(rig.queue.unsettled, 0)
  })

  test('delays later messages under key order, within a bound', async () => {
    const rig = new ConsumerRig()
    const { message, readings } = schemaThat(reading => reading === 2)
    const identity = { id: (m: Note) => m.id, orderKey: (m: Note) => m.key }
    rig.publish({ id: 'slow', key: 'k' }, { id: 'b', key: 'k' })
    await rig.start({ message, identity, order: 'key', failure, batch: { handlerTimeoutMs } })
    await rig.env.advance(handlerTimeoutMs - 1)
    assert.deepEqual(rig.handled, [])
    await rig.env.advance(1)
    assert.equal(readings(), 2)
    assert.deepEqual(rig.handled, ['slow', 'b'])
  })

  test('lets them pass under key order when the attempts are used up', async () => {
    const rig = new ConsumerRig()
    const { message, readings } = schemaThat(() => false)
    const identity = { id: (m: Note) => m.id, orderKey: (m: Note) => m.key }
    rig.publish({ id: 'slow', key: 'k' }, { id: 'b', key: 'k' })
    await rig.start({ message, identity, order: 'key', failure, batch: { handlerTimeoutMs } })
    await rig.env.advance(attemptsMax * handlerTimeoutMs)
    assert.equal(readings(), attemptsMax)
    assert.deepEqual(rig.handled, ['b'])
    assert.equal([...rig.store.memory.committed.held.values()][0]?.state, 'parked')
    assert.equal(rig.queue.unsettled, 0)
  })

  test('does not delay a drain', async () => {
    const rig = new ConsumerRig()
    rig.publish({ id: 'slow' })
    const one = await rig.start({ message: schemaThat(() => false).message, batch: { handlerTimeoutMs } })
    await rig.env.advance(200)
    await one.drain()
    assert.deepEqual(rig.env.due, [])
    assert.equal(rig.queue.unsettled, 1)
  })
})
