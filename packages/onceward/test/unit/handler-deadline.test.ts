import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { handlerDeadline } from '../../src/engine/batch/handler-deadline.ts'

/** A deadline of 100 ms whose timer is served `lateMs` after it was due. */
async function passedAfter(lateMs: number): Promise<Error> {
  let nowMs = 0
  let due: () => void = () => {}
  const timers = {
    after(delayMs: number, callback: () => void) {
      due = () => {
        nowMs += delayMs + lateMs
        callback()
      }
      return () => {}
    },
  }
  const context = {
    consumer: { batch: { handlerTimeoutMs: 100 }, order: 'none' },
    store: { capabilities: { concurrent: true } },
    savepoints: { needed: false },
    env: { clock: { nowMs: () => nowMs }, timers },
    signal: new AbortController().signal,
  }
  const deadline = handlerDeadline([], context as never)
  due()
  const error: Error = await deadline.within(new Promise<never>(() => {})).catch(reason => reason)
  assert.equal(deadline.cutBy(error), error)
  assert.equal(deadline.cutBy(new Error('of the handler')), undefined)
  return error
}

describe('the time of a handler', () => {
  test('is said to be over', async () => {
    assert.match(
      (await passedAfter(3)).message,
      /^The handler did not return within 100 ms\. Its transaction/,
    )
  })

  test('names the pause if the process itself was paused', async () => {
    assert.match(
      (await passedAfter(42_000)).message,
      /was paused or its event loop was blocked for at least 42 s: another process may have its lease or partition/,
    )
  })
})
