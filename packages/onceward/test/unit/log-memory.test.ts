import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { LogSubscription } from '../../src/drivers/log/log-subscription.ts'
import { PartitionProgress } from '../../src/drivers/log/partition-progress.ts'
import type { LogRecord } from '../../src/ports/log-record.ts'
import { logOptions } from '../../src/testing/memory-checkpoints.ts'

const idle = {
  origin: 'log',
  commit: async () => ({ missed: 0 }),
  onRoom: () => {},
  behind: () => null,
  close: async () => {},
}

function record(offset: number): LogRecord {
  const [at, next] = [String(offset), String(offset + 1)]
  const body = Buffer.alloc(1_000, at)
  return { body, headers: {}, properties: {}, key: null, at, next, position: `log@${at}`, redelivered: false }
}

function opened() {
  const options = { inFlightMax: 100, inFlightBytesMax: 1e6, log: logOptions() }
  const subscription = new LogSubscription(options, idle)
  const progress = new PartitionProgress('log', 1, { incarnation: 'one', next: '0' })
  subscription.own(progress)
  return { subscription, progress }
}

/** After a turn of the event loop: a reference that was looked at lives to the end of its turn. */
async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc')
  await new Promise(resolve => setImmediate(resolve))
  const gc = runInNewContext('gc') as () => void
  gc()
}

describe('the subscription every log shares', () => {
  test('frees delivered and settled records, though more is always read ahead', async () => {
    const { subscription, progress } = opened()
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
    await collectGarbage()
    assert.equal(first.deref(), undefined)
  })

  test('frees records settled behind an unfinished one, however long that takes', async () => {
    const { subscription, progress } = opened()
    subscription.offer(progress, [record(0)], '1')
    const [stuck] = await subscription.receive(1)
    const settled: WeakRef<LogRecord>[] = []
    const flow = async (offset: number) => {
      const one = record(offset)
      settled.push(new WeakRef(one))
      subscription.offer(progress, [one], one.next)
      await subscription.settle(await subscription.receive(1))
    }
    for (let offset = 1; offset < 2_000; offset++) await flow(offset)
    await collectGarbage()
    const left = settled.filter(one => one.deref() !== undefined).length
    assert.ok(left < 500, `${left} of ${settled.length} are still there`)
    await subscription.settle([stuck!])
    assert.equal(progress.position, '2000')
  })

  test('keeps only the bytes of an unfinished record, not those it was read with', async () => {
    const { subscription, progress } = opened()
    const fetched = Buffer.alloc(1024 * 1024, 'x')
    const headers = { trace: fetched.subarray(100, 120), count: 1 }
    subscription.offer(progress, [{ ...record(0), body: fetched.subarray(0, 100), headers }], '1')
    const [stuck] = await subscription.receive(1)
    const { key, position, place } = stuck!
    for (let offset = 1; offset < 500; offset++) {
      subscription.offer(progress, [record(offset)], String(offset + 1))
      await subscription.settle(await subscription.receive(1))
    }
    assert.deepEqual(stuck!.body, fetched.subarray(0, 100))
    assert.deepEqual({ ...stuck!.headers }, headers)
    for (const bytes of [stuck!.body, stuck!.headers.trace as Buffer])
      assert.ok(bytes.buffer.byteLength <= 64 * 1024, `${bytes.buffer.byteLength} bytes are kept`)
    assert.deepEqual([stuck!.key, stuck!.position, stuck!.place], [key, position, place])
    await subscription.settle([stuck!])
    assert.equal(progress.position, '500')
  })
})
