import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { defineConsumer, runConsumer, type SqlTransaction } from 'onceward'
import { stream } from 'onceward/rabbitmq-stream'
import { createPool } from '../../src/drivers/postgres/pool.ts'
import { StreamRangeReader } from '../../src/drivers/rabbitmq-stream/stream-range-reader.ts'
import { MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { until } from '../../src/testing/until.ts'
import { createDatabase, skipWithout } from '../services/services.ts'
import { createTestStream, openStream, text } from './broker.ts'
import { plainEntry, publishEntries, subBatchEntry } from './publish-entries.ts'
import { startRecoveringBroker } from './recovering-broker.ts'

const packedBodies = (...bodies: string[]) => gzipSync(Buffer.concat(bodies.map(plainEntry)))
const notGzip = subBatchEntry(1, 3, Buffer.from('this is no gzip'))
/** One kilobyte in the frame, 200 MB behind it, said to be ten bytes. */
const bomb = subBatchEntry(1, 2, gzipSync(Buffer.alloc(200 * 1024 * 1024), { level: 9 }), 10)
const entries = [
  plainEntry('{"id":"a"}'),
  notGzip,
  subBatchEntry(1, 2, packedBodies('{"id":"b"}', '{"id":"c"}')),
  bomb,
  plainEntry('{"id":"d"}'),
]

async function brokenStream(t: TestContext) {
  const made = await createTestStream(t)
  await publishEntries(made.url, made.name, entries)
  return made
}

describe('a stream with sub-batches that cannot be read', {
  timeout: 120_000,
  ...(await skipWithout()),
}, () => {
  for (const progress of ['broker', 'store', 'only'] as const) {
    test(`delivers their bytes in the place of their records, once, with progress ${progress}`, async t => {
      const made = await brokenStream(t)
      const checkpoints = new MemoryCheckpoints()
      const log = { progress, checkpoints }
      const { subscription, take } = await openStream(t, made.name, { start: 'first' }, { log })
      const taken = await take(6)
      const places = taken.map(({ place }) => Number(place!.next) - Number(place!.at))
      assert.deepEqual(places, [1, 3, 1, 1, 2, 1])
      assert.deepEqual([taken[1]!.body, taken[4]!.body], [notGzip, bomb])
      assert.match(taken[1]!.properties.contentEncoding!, /^unreadable: 3 records.*incorrect header check/)
      assert.match(taken[4]!.properties.contentEncoding!, /unpacks to more than 67108864 bytes/)
      checkpoints.advance(subscription.log!.progressWith(taken, taken))
      await subscription.settle(taken)
      await subscription.close()
      await made.send('later')
      const again = await openStream(t, made.name, {}, { log })
      assert.deepEqual(text(await again.take(1)), ['later'])
      assert.deepEqual(checkpoints.losses, [])
    })
  }

  test('with no records take no offset: other records keep theirs', async t => {
    const made = await createTestStream(t)
    const none = (bytes: string) => subBatchEntry(0, 0, Buffer.from(bytes))
    await publishEntries(made.url, made.name, [none('junk'), plainEntry('a'), none('junk'), plainEntry('b')])
    await made.send('c')
    const { take } = await openStream(t, made.name, { start: 'first' })
    const taken = await take(3)
    assert.deepEqual(text(taken), ['a', 'b', 'c'])
    assert.equal(new Set(taken.map(({ position }) => position)).size, 3)
  })

  test('is read to its end by a campaign', async t => {
    const made = await brokenStream(t)
    const reader = new StreamRangeReader({ stream: made.name, superStream: false, url: made.url, group: 'g' })
    t.after(() => reader.close())
    const [range] = await reader.survey({ start: 'first', end: 'next' })
    const seen: string[] = []
    for (let next = range!.from; next !== range!.to; ) {
      const page = await reader.read(made.name, { incarnation: range!.incarnation, next })
      assert.equal(page.kind, 'records')
      if (page.kind !== 'records') return
      for (const { at, properties } of page.records)
        seen.push(properties.contentEncoding === undefined ? at : `${at} broken`)
      next = page.next
    }
    const first = Number(range!.from)
    const at = (offset: number) => String(first + offset)
    assert.deepEqual(seen, [at(0), `${at(1)} broken`, at(4), at(5), `${at(6)} broken`, at(8)])
  })

  for (const dedup of ['marker', 'checkpoint'] as const) {
    test(`leaves a quarantined row for each with its bytes and reason, dedup ${dedup}`, async t => {
      const made = await brokenStream(t)
      const database = await createDatabase()
      const pool = createPool(database.url, { max: 4 })
      t.after(async () => {
        await pool.end()
        await database.drop()
      })
      const applied: string[] = []
      const consumer = defineConsumer<{ id: string }, SqlTransaction>({
        name: 'broken',
        owner: 'tests',
        risk: 'projection',
        source: stream(made.name, { url: made.url, start: 'first' }),
        identity: { id: message => message.id },
        dedup,
        order: 'partition',
        async handle({ message }) {
          applied.push(message.id)
        },
      })
      const running = await runConsumer(consumer, { databaseUrl: database.url })
      await until('the last one is applied', () => applied.includes('d'))
      await running.drain()
      assert.deepEqual(applied, ['a', 'b', 'c', 'd'])
      const { rows } = await pool.query(
        `select body, position, reason, error from onceward.held where state = 'quarantined' order by id`,
      )
      const first = Number(/@(\d+)$/.exec(rows[0].position)![1])
      assert.deepEqual(
        rows.map(({ body, position }) => [body, position]),
        [
          [notGzip, `${made.name}@${first}`],
          [bomb, `${made.name}@${first + 5}`],
        ],
      )
      assert.match(JSON.stringify(rows[0]), /3 records of the log that cannot be decoded/)
      assert.match(JSON.stringify(rows[1]), /unpacks to more than/)
    })
  }

  test('too large to be stored are a declared loss, once all earlier records are settled', async t => {
    const made = await brokenStream(t)
    const checkpoints = new MemoryCheckpoints()
    const log = { progress: 'store' as const, checkpoints }
    const open = () => openStream(t, made.name, { start: 'first' }, { log, keptBytesMax: 1_000 })
    const { subscription, take } = await open()
    const taken = await take(4)
    assert.equal(checkpoints.losses.length, 0)
    checkpoints.advance(subscription.log!.progressWith(taken, taken))
    await subscription.settle(taken)
    await assert.rejects(subscription.receive(1), { code: 'records_lost', message: /too large to keep/ })
    await subscription.close()
    const [loss] = checkpoints.losses
    const last = Number(taken.at(-1)!.place!.next)
    assert.deepEqual([loss!.from.next, loss!.to!.next, loss!.records], [`${last}`, `${last + 2}`, 2])
    checkpoints.acceptLoss(made.name)
    assert.deepEqual(text(await (await open()).take(1)), ['{"id":"d"}'])
  })
})

describe('a damaged chunk', { timeout: 120_000, ...(await skipWithout('rabbitmq')) }, () => {
  const records = ['1', '2', '3']

  async function damagedChunk(t: TestContext, times: number) {
    const made = await createTestStream(t)
    const broker = await startRecoveringBroker(t, made.url)
    const checkpoints = new MemoryCheckpoints()
    const opened = await openStream(
      t,
      made.name,
      { url: broker.url, start: 'first' },
      { log: { progress: 'store', checkpoints } },
    )
    await opened.event('assigned')
    await publishEntries(made.url, made.name, [plainEntry('before')])
    const taken = await opened.take(1)
    checkpoints.advance(opened.subscription.log!.progressWith(taken, taken))
    await opened.subscription.settle(taken)
    broker.damage(times)
    // One entry: several may come to stand in several chunks.
    const batch = subBatchEntry(0, records.length, Buffer.concat(records.map(plainEntry)))
    await publishEntries(made.url, made.name, [batch])
    return { opened, checkpoints }
  }

  test('is requested again on another connection', async t => {
    const { opened } = await damagedChunk(t, 1)
    assert.deepEqual(text(await opened.take(3)), records)
    const lost = await opened.event('disconnected')
    assert.match('reason' in lost ? lost.reason : '', /arrived damaged/)
  })

  test('damaged every time is delivered as it is, in the place of its records', async t => {
    const { opened, checkpoints } = await damagedChunk(t, 100)
    const [broken] = await opened.take(1)
    assert.match(broken!.properties.contentEncoding!, /3 records.*its checksum does not match/)
    assert.equal(Number(broken!.place!.next) - Number(broken!.place!.at), 3)
    assert.deepEqual(checkpoints.losses, [])
  })
})
