import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { createStreamSource, stream } from 'onceward/rabbitmq-stream'
import type { SourceEvent, Subscription } from '../../src/contracts/source.ts'
import { logOptions, MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithoutPrivateRabbitmq, startPrivateRabbitmq } from '../services/private-rabbitmq.ts'
import { connectClient } from './broker.ts'

const kills = 4
const records = 6_000

describe('a broker that is killed under load', await skipWithoutPrivateRabbitmq(), () => {
  test('loses no stream in the eyes of its reader, and every record is read once', {
    timeout: 240_000,
  }, async t => {
    const broker = await startPrivateRabbitmq()
    t.after(() => broker.close())
    const client = await connectClient(broker.streamUrl)
    await client.createStream({ stream: 'log', arguments: {} })
    await client.close()

    const writer = writeOn(broker.streamUrl)
    t.after(() => writer.stop())
    await until('the stream has grown', () => writer.confirmed.size > records, { deadlineMs: 60_000 })
    await until('the broker would find its streams again', () => coordinatorIsStored(broker.folder), {
      deadlineMs: 60_000,
    })
    const checkpoints = new MemoryCheckpoints()
    const reader = await readOn(broker.streamUrl, checkpoints)
    t.after(() => reader.subscription.close())
    for (let kill = 1; kill <= kills; kill++) {
      await until('the reader has read', () => reader.seen.size > kill * 1_000, { deadlineMs: 60_000 })
      const assigned = reader.assigned()
      await broker.kill()
      await broker.start()
      await until('the reader reads again', () => reader.assigned() > assigned || reader.failed !== null, {
        deadlineMs: 60_000,
      })
      assert.equal(reader.failed, null, `after kill ${kill}`)
    }
    await writer.stop()
    const missing = () => [...writer.confirmed].filter(id => !reader.seen.has(id)).length
    await until('everything confirmed is read', () => missing() === 0 || reader.failed !== null, {
      deadlineMs: 60_000,
    })
    assert.equal(reader.failed, null)
    assert.deepEqual(reader.twice, [], 'positions were stored with each batch: nothing is handed over twice')
    assert.deepEqual([checkpoints.losses, checkpoints.withdrawn], [[], []])
  })
})

/**
 * RabbitMQ writes the list of its Raft members a moment after the first stream was made. Killed before, it starts without the coordinator of
 * streams and serves none of them.
 */
function coordinatorIsStored(folder: string): boolean {
  const lists = globSync('data/**/coordination/*/names.dets', { cwd: folder })
  return lists.some(list => readFileSync(join(folder, list)).includes('rabbit_stream_coordinator'))
}

/** Publishes for as long as it is let, over every restart; what was confirmed must be read. */
function writeOn(url: string) {
  const confirmed = new Set<string>()
  let stopped = false
  let next = 0
  const session = async () => {
    const client = await connectClient(url)
    try {
      const publisher = await client.declarePublisher({ stream: 'log' })
      const ids = new Map<bigint, string>()
      publisher.on('publish_confirm', (_error, published) => {
        for (const id of published) confirmed.add(ids.get(id)!)
      })
      while (!stopped) {
        // Drawn one by one: a session that was given up may go on beside the next one.
        for (let sent = 0; sent < 200; sent++) {
          const id = String(next++)
          ids.set((await publisher.send(Buffer.from(id))).publishingId, id)
        }
        await publisher.flush()
        await delay(5)
      }
    } finally {
      await Promise.race([client.close().catch(() => {}), delay(500)])
    }
  }
  const running = (async () => {
    while (!stopped) {
      await Promise.race([
        session().catch(() => {}),
        untilStuck(
          () => confirmed.size,
          () => stopped,
        ),
      ])
      await delay(100)
    }
  })()
  return {
    confirmed,
    stop: async () => {
      stopped = true
      await running
    },
  }
}

/** The client never rejects what it sent to a broker that died. */
async function untilStuck(progress: () => number, isOver: () => boolean): Promise<void> {
  for (let before = -1; before !== progress() && !isOver(); ) {
    before = progress()
    await delay(2_000)
  }
}

async function readOn(url: string, checkpoints: MemoryCheckpoints) {
  const events: SourceEvent[] = []
  const seen = new Set<string>()
  const twice: string[] = []
  const subscription = await createStreamSource(stream('log', { url, start: 'first' })).open({
    inFlightMax: 1_000,
    inFlightBytesMax: 8 * 1024 * 1024,
    onEvent: event => events.push(event),
    log: logOptions({ progress: 'only', checkpoints }),
  })
  const reader = {
    subscription,
    seen,
    twice,
    failed: null as unknown,
    assigned: () => events.filter(({ kind }) => kind === 'assigned').length,
  }
  void read(subscription, checkpoints, reader).catch(error => {
    reader.failed = error
  })
  return reader
}

/** As an engine under `dedup: 'checkpoint'`: the position moves with the effect, or neither happens. */
async function read(
  subscription: Subscription,
  checkpoints: MemoryCheckpoints,
  { seen, twice }: { readonly seen: Set<string>; readonly twice: string[] },
): Promise<void> {
  for (;;) {
    const deliveries = await subscription.receive(100)
    if (deliveries.length === 0) return
    try {
      checkpoints.advance(subscription.progressWith!(deliveries, deliveries))
    } catch {
      continue
    }
    for (const { body } of deliveries) {
      const id = body.toString()
      if (seen.has(id)) twice.push(id)
      seen.add(id)
    }
    await subscription.settle(deliveries)
  }
}
