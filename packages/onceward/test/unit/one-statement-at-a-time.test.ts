import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ConsumerRig, type NoteContext } from './consumer-rig.ts'

describe('on a store that takes one statement at a time', () => {
  const inTurn = () => {
    const rig = new ConsumerRig()
    Object.assign(rig.store, { capabilities: { ...rig.store.capabilities, concurrent: false } })
    return rig
  }

  test('handlers of different lanes are called one after the other', async () => {
    const rig = inTurn()
    let [running, most] = [0, 0]
    rig.publish(...['a', 'b', 'c'].map(id => ({ id })))
    await rig.start({
      async handle({ message, tx }: NoteContext) {
        most = Math.max(most, ++running)
        await rig.env.turn()
        running--
        rig.apply(tx, message.id)
      },
    })
    await untilSettled(rig)
    assert.equal(most, 1)
    assert.deepEqual(rig.applied, { a: 1, b: 1, c: 1 })
  })

  test('slow ones are cut by elapsed time: none is blamed for the time of those before it', async () => {
    const rig = inTurn()
    rig.publish(...['a', 'b', 'c', 'd', 'e'].map(id => ({ id })))
    await rig.start({
      failure: { attemptsMax: 1 },
      batch: { handlerTimeoutMs: 700 },
      async handle({ message, tx }: NoteContext) {
        await rig.env.advance(600)
        rig.apply(tx, message.id)
      },
    })
    await untilSettled(rig)
    assert.deepEqual(rig.applied, { a: 1, b: 1, c: 1, d: 1, e: 1 })
    assert.equal(rig.store.memory.committed.held.size, 0)
  })

  test('after one that wrote and failed no other is called: the next round runs them all', async () => {
    const rig = inTurn()
    const called: string[] = []
    rig.publish(...['a', 'bad', 'c'].map(id => ({ id })))
    await rig.start({
      failure: { attemptsMax: 1 },
      handle({ message, tx }: NoteContext) {
        called.push(message.id)
        rig.apply(tx, message.id)
        if (message.id === 'bad') throw new Error('after its write')
      },
    })
    await untilSettled(rig)
    assert.deepEqual(called, ['a', 'bad', 'a', 'c'])
    assert.deepEqual(rig.applied, { a: 1, c: 1 })
  })
})

/**
 * Millisecond by millisecond: a larger step would pass over a deadline and what it is to be compared with.
 */
async function untilSettled(rig: ConsumerRig): Promise<void> {
  for (let steps = 0; rig.queue.unsettled > 0; steps++) {
    assert.ok(steps < 100_000, 'not all were settled')
    await rig.env.advance(1)
  }
}
