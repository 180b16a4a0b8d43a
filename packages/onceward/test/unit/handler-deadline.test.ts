import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { handlerDeadline } from '../../src/engine/batch/handler-deadline.ts'

/** A deadline of 100 ms; `pass` serves its timer `lateMs` after it was due. */
function deadlineOf(lateMs: number) {
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
  return { deadline: handlerDeadline([], context as never), pass: () => due() }
}

async function passedAfter(lateMs: number): Promise<Error> {
  const { deadline, pass } = deadlineOf(lateMs)
  pass()
  const error: Error = await deadline.within(new Promise<never>(() => {})).catch(reason => reason)
  assert.equal(deadline.cutBy(error), error)
  assert.equal(deadline.cutBy(new Error('of the handler')), undefined)
  return error
}

describe('the time of a handler', () => {
  test('is reported when it is exceeded', async () => {
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

  test('cuts every call in progress, and none that has ended', async () => {
    const { deadline, pass } = deadlineOf(3)
    const never = () => deadline.within(new Promise<never>(() => {})).catch((reason: Error) => reason)
    const failed = new Error('of the handler')
    const ended = await deadline.within(Promise.resolve('ended'))
    const broken = await deadline.within(Promise.reject(failed)).catch(reason => reason)
    const open = [never(), never()]
    pass()
    for (const one of [...open, never()]) assert.match((await one).message, /did not return within 100 ms/)
    assert.equal(ended, 'ended')
    assert.equal(broken, failed)
    assert.equal(await deadline.within('returned already'), 'returned already')
  })
})
