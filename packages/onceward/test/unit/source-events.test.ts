import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ConsumerProcess, defineConsumer, type SourceEvent } from 'onceward'
import { MemoryQueue, MemoryStore, type MemoryTransaction } from 'onceward/memory'
import { createTestEnvironment } from 'onceward/testing'
import type { OpenOptions, Stall } from '../../src/ports/source.ts'
import { watchConsumer } from '../../src/runtime/run-health.ts'

/** A consumer on memory, and what its source has to tell it. */
async function start() {
  const env = createTestEnvironment()
  const queue = new MemoryQueue()
  let tell: (event: SourceEvent) => void = () => {}
  const silence: { stall: Stall | null } = { stall: null }
  const consumer = defineConsumer<{ id: string }, MemoryTransaction>({
    name: 'notes',
    owner: 'unit',
    risk: 'low value',
    source: { kind: 'memory' },
    identity: { id: m => m.id },
    handle() {},
  })
  const source = {
    name: queue.name,
    capabilities: queue.capabilities,
    open: async (options: OpenOptions) => {
      tell = options.onEvent
      return Object.assign(await queue.open(options), { stalled: () => silence.stall })
    },
  }
  const reader = new ConsumerProcess({ consumer, source, store: new MemoryStore(), env, instance: 'unit' })
  await reader.start()
  const watch = watchConsumer({
    consumer: consumer as never,
    reader: reader as never,
    worker: () => null,
    queue: null,
    pool: { query: () => new Promise(() => {}) } as never,
    env,
    now: () => 0,
  })
  return { env, reader, watch, silence, tell: (event: SourceEvent) => tell(event) }
}

describe('events of a source', () => {
  test('are logged at their level', async () => {
    const { env, reader, tell } = await start()
    const partitions = ['t/0']
    const levels: [SourceEvent, string][] = [
      [{ kind: 'assigned', partitions, reason: 'by the group' }, 'info'],
      [{ kind: 'revoked', partitions, reason: 'they go to another member', orderly: true }, 'info'],
      [{ kind: 'revoked', partitions, reason: 'lost: fenced' }, 'warn'],
      [{ kind: 'degraded', part: 'reading d', reason: 'odd' }, 'warn'],
      [{ kind: 'restored', part: 'reading d' }, 'info'],
      [{ kind: 'disconnected', reason: 'gone' }, 'warn'],
      [{ kind: 'connected' }, 'info'],
    ]
    for (const [event, level] of levels) {
      tell(event)
      const last = env.lines.at(-1)!
      assert.deepEqual([last.level, last.message], [level, `source ${event.kind}`])
    }
    await reader.drain()
  })

  test('make a consumer unready while a part of its source fails, with the reason', async () => {
    const { reader, watch, tell } = await start()
    assert.deepEqual(watch.read().reasons, [])
    tell({ kind: 'degraded', part: 'reading dead-letter queue d', reason: 'odd' })
    assert.deepEqual(watch.read().reasons, ['reading dead-letter queue d fails and is retried: odd'])
    tell({ kind: 'restored', part: 'reading dead-letter queue d' })
    assert.equal(watch.read().ready, true)
    tell({ kind: 'degraded', part: 'reading dead-letter queue d', reason: 'odd' })
    tell({ kind: 'connected' })
    assert.equal(watch.read().ready, true)
    await reader.drain()
    void watch.close()
  })

  test('make a consumer unready that waits for missing deliveries', async () => {
    const { reader, watch, silence } = await start()
    assert.equal(watch.read().stalledSeconds, null)
    silence.stall = { forMs: 4_000, reason: 'leader 2 does not answer' }
    assert.deepEqual([watch.read().ready, watch.read().stalledSeconds], [true, 4])
    silence.stall = { forMs: 6_000, reason: 'leader 2 does not answer' }
    assert.deepEqual(watch.read().reasons, ['stalled for 6 s: leader 2 does not answer'])
    await reader.drain()
    assert.equal(watch.read().stalledSeconds, null, 'a process that takes nothing is not stalled')
    void watch.close()
  })
})
