import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createTestEnvironment, logOptions, MemoryCheckpoints } from 'onceward/testing'
import { type PullReader, PullSource } from '../../src/drivers/log/pull-source.ts'
import type { Page } from '../../src/ports/range-reader.ts'
import type { LogOptions, SourceEvent } from '../../src/ports/source.ts'
import { recordOf } from './log-bench.ts'

/** One partition, whose pages a test decides. */
async function bench(read: (from: string) => Page, progress: LogOptions['progress'] = 'broker') {
  const env = createTestEnvironment()
  const checkpoints = new MemoryCheckpoints()
  const events: SourceEvent[] = []
  const reads: string[] = []
  const reader: PullReader = {
    origin: 'unit',
    list: async () => ['p'],
    begin: async () => ({ incarnation: 'one', next: '0' }),
    read: async (_, { incarnation, next }) => {
      reads.push(`${incarnation}@${next}`)
      return read(incarnation)
    },
    close: async () => {},
  }
  const source = new PullSource(() => reader, { name: 'unit', standbyMs: 1_000, env })
  const subscription = await source.open({
    inFlightMax: 100,
    inFlightBytesMax: 1_000,
    onEvent: event => void events.push(event),
    log: logOptions({ checkpoints, progress }),
  })
  await env.turn()
  return { env, checkpoints, events, reads, subscription }
}

const empty: Page = { kind: 'records', records: [], next: '0', atEnd: true, behind: 0 }
const page = (...offsets: number[]): Page => ({
  kind: 'records',
  records: offsets.map(offset => recordOf(offset, 1)),
  next: String(offsets.at(-1)! + 1),
  atEnd: true,
  behind: 0,
})

describe('a source that is polled', () => {
  test('polls ever more slowly while nothing arrives', async () => {
    const { env, reads } = await bench(() => empty)
    await env.advance(1_000)
    const soon = reads.length
    await env.advance(10_000)
    assert.ok(soon >= 5 && soon <= 8, `${soon} reads in the first second`)
    assert.ok(reads.length - soon >= 9 && reads.length - soon <= 11, `${reads.length - soon} in ten more`)
  })

  test('retries a failed read, ever more slowly, and reports it', async () => {
    let failures = 3
    const { env, events, subscription } = await bench(() => {
      if (failures-- > 0) throw new Error('not now')
      return page(0)
    })
    const waiting = subscription.receive(10)
    await env.advance(100 + 200)
    assert.equal(failures, 0)
    await env.advance(400)
    assert.equal((await waiting).length, 1)
    assert.equal(events.filter(({ kind }) => kind === 'warning').length, 3)
  })

  test('keeps its position in the store, also when several batches end at once', async () => {
    const { checkpoints, subscription } = await bench(() => page(0, 1, 2))
    const received = await subscription.receive(10)
    await Promise.all(received.toReversed().map(delivery => subscription.settle([delivery])))
    assert.equal(checkpoints.stored('p')!.next, '3')
  })

  test('does not write the position where the transaction writes it', async () => {
    const { checkpoints, subscription } = await bench(() => page(0, 1), 'store')
    const received = await subscription.receive(10)
    checkpoints.advance(subscription.log!.progressWith(received, received))
    const begin = checkpoints.begin
    checkpoints.begin = () => assert.fail('written a second time')
    assert.deepEqual(await subscription.settle(received), { missed: 0 })
    checkpoints.begin = begin
  })

  test('waits when another process took the partition, then continues where that one stopped', async () => {
    const { env, checkpoints, events, reads, subscription } = await bench(() => page(0))
    const [delivery] = await subscription.receive(1)
    const [rival] = await checkpoints.take(['p'])
    await checkpoints.begin('p', rival!.epoch, { incarnation: 'one', next: '7' })
    assert.deepEqual(await subscription.settle([delivery!]), { missed: 1 })
    await env.turn()
    assert.equal(events.at(-1)!.kind, 'revoked')
    const before = reads.length
    await env.advance(900)
    assert.equal(reads.length, before)
    await env.advance(200)
    assert.equal(reads[before], 'one@7')
  })

  test('continues in another incarnation of the log only when all of this one is settled', async () => {
    const moved: Page = { kind: 'moved', to: { incarnation: 'two', next: '0' } }
    let first = true
    const { env, reads, checkpoints, subscription } = await bench(life => {
      if (life === 'two') return empty
      if (!first) return moved
      first = false
      return page(0)
    })
    const [delivery] = await subscription.receive(1)
    await env.advance(5_000)
    assert.ok(reads.every(read => read.startsWith('one')))
    await subscription.settle([delivery!])
    await env.advance(100)
    assert.ok(reads.some(read => read === 'two@0'))
    assert.equal(checkpoints.stored('p')!.incarnation, 'two')
  })
})
