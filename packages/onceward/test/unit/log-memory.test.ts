import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { LogRecord } from '../../src/sources/log/log-record.ts'
import { LogSubscription } from '../../src/sources/log/log-subscription.ts'
import { PartitionProgress } from '../../src/sources/log/partition-progress.ts'
import { logOptions } from '../../src/testing/memory-checkpoints.ts'

const idle = {
  origin: 'log',
  tell: async () => ({ missed: 0 }),
  onRoom: () => {},
  behind: () => null,
  close: async () => {},
}

function record(offset: number): LogRecord {
  const [at, next] = [String(offset), String(offset + 1)]
  const body = Buffer.alloc(1_000, at)
  return { body, headers: {}, properties: {}, key: null, at, next, position: `log@${at}`, redelivered: false }
}

describe('the subscription every log shares', () => {
  test('forgets what was handed over and settled, though more is always read ahead', async () => {
    setFlagsFromString('--expose-gc')
    const gc = runInNewContext('gc') as () => void
    const subscription = new LogSubscription(
      { inFlightMax: 100, inFlightBytesMax: 1e6, log: logOptions() },
      idle,
    )
    const progress = new PartitionProgress('log', 1, { incarnation: 'one', next: '0' })
    subscription.own(progress)
    const first = new WeakRef(
      (() => {
        const one = record(0)
        subscription.offer(progress, [one, record(1), record(2)], '3')
        return one
      })(),
    )
    for (let offset = 3; offset < 50; offset++) {
      subscription.offer(progress, [record(offset)], String(offset + 1))
      await subscription.settle(await subscription.receive(1))
    }
    // A turn of the event loop: a reference that was looked at lives to the end of its turn.
    await new Promise(resolve => setImmediate(resolve))
    gc()
    assert.equal(first.deref(), undefined)
  })
})
