import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { QueueDepth } from '../../src/drivers/log/queue-depth.ts'

function open(options: { forOthers?: boolean } = {}) {
  let nowMs = 0
  let held = 0
  let answer = Promise.resolve<number | null>(0)
  const depth = new QueueDepth({
    queue: 'work',
    ask: () => answer,
    held: () => held,
    nowMs: () => nowMs,
    ...options,
  })
  return {
    depth,
    hold: (count: number) => {
      held = count
    },
    answers: (next: Promise<number | null>) => {
      answer = next
    },
    /** Looks, lets the answer arrive, and looks again. */
    async after(ms: number) {
      nowMs += ms
      depth.stalled()
      await new Promise(resolve => setImmediate(resolve))
      return depth.stalled()
    },
  }
}

describe('a queue that delivers nothing', () => {
  test('is stalled since messages were found waiting, until one is delivered', async () => {
    const { depth, answers, after } = open()
    assert.equal(await after(10), null)
    answers(Promise.resolve(3))
    assert.equal((await after(5_000))?.forMs, 0)
    const stall = await after(6_000)
    assert.equal(stall?.forMs, 6_000)
    assert.match(stall!.reason, /3 messages wait in queue work, and none is delivered/)
    depth.moved()
    assert.equal(await after(1_000), null)
    assert.equal((await after(5_000))?.forMs, 0, 'it begins anew')
  })

  test('is not stalled while this process has deliveries, nor where another process may be the active one', async () => {
    const { answers, after, hold } = open()
    hold(2)
    answers(Promise.resolve(3))
    await after(5_000)
    assert.equal(await after(6_000), null)
    const standby = open({ forOthers: true })
    standby.answers(Promise.resolve(3))
    await standby.after(5_000)
    assert.equal(await standby.after(6_000), null)
  })

  test('is stalled when an answer of the broker is overdue, for any active consumer', async () => {
    const { answers, after } = open({ forOthers: true })
    const late = Promise.withResolvers<number | null>()
    answers(late.promise)
    assert.equal(await after(5_000), null)
    const stall = await after(7_000)
    assert.equal(stall?.forMs, 7_000)
    assert.match(stall!.reason, /does not report/)
    answers(Promise.resolve(0))
    late.resolve(0)
    assert.equal(await after(1), null)
  })

  test('is queried again after a missing answer, and is not stalled after the next one', async () => {
    const { answers, after } = open()
    const never = Promise.withResolvers<number | null>()
    answers(never.promise)
    await after(5_000)
    answers(Promise.resolve(0))
    assert.equal((await after(7_000))?.forMs, 7_000)
    assert.equal(await after(4_000), null)
    never.resolve(9)
    assert.equal(await after(1), null, 'an answer that comes too late says nothing any more')
  })

  test('is not stalled when a message arrived during the query', async () => {
    const { depth, answers, after } = open()
    const asked = Promise.withResolvers<number | null>()
    answers(asked.promise)
    await after(5_000)
    depth.moved()
    asked.resolve(5)
    assert.equal(await after(1_000), null)
  })
})
