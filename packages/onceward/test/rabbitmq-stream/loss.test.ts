import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readAddress } from '../../src/drivers/rabbitmq-stream/address.ts'
import { storeOffset } from '../../src/drivers/rabbitmq-stream/wire/commands.ts'
import { openLink } from '../../src/drivers/rabbitmq-stream/wire/handshake.ts'
import type { OncewardError } from '../../src/errors.ts'
import { MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { createTestStream, numbers, type Opened, openStream, type TestStream, text } from './broker.ts'

/** Segments of 2 kB, of which the newest few stay. */
const tiny = { 'max-length-bytes': 4_000, 'stream-max-segment-size-bytes': 2_000 }
const large = 'x'.repeat(500)

async function firstOffset({ client, name }: TestStream): Promise<number> {
  return Number((await client.streamStatsRequest(name)).firstChunkId)
}

/** Writes until retention has removed everything below `offset`. */
async function outgrow(made: TestStream, offset: number): Promise<void> {
  await until('retention has passed', async () => {
    await made.send(large)
    return (await firstOffset(made)) > offset
  })
}

async function settle(opened: Opened, count: number, checkpoints: MemoryCheckpoints): Promise<void> {
  const { subscription } = opened
  const deliveries = await opened.take(count)
  for (const { partition, epoch, incarnation, next } of subscription.log!.progressWith(
    deliveries,
    deliveries,
  ))
    if (next !== null) await checkpoints.begin(partition, epoch, { incarnation, next })
  await subscription.settle(deliveries)
}

describe('records a stream no longer has', { timeout: 240_000, ...(await skipWithout('rabbitmq')) }, () => {
  for (const progress of ['broker', 'store'] as const) {
    test(`are declared lost when retention has passed the position, with progress ${progress}`, async t => {
      const made = await createTestStream(t, { settings: tiny })
      const checkpoints = new MemoryCheckpoints()
      const log = { progress, checkpoints }
      await made.send(...numbers(0, 4))
      const one = await openStream(t, made.name, { start: 'first' }, { log })
      await settle(one, 3, checkpoints)
      await one.subscription.close()
      await outgrow(made, 4)
      const first = await firstOffset(made)
      const other = await openStream(t, made.name, {}, { log })
      const error: OncewardError = await other.subscription.receive(1).then(
        () => assert.fail('received'),
        reason => reason,
      )
      assert.equal(error.code, 'records_lost')
      assert.match(
        error.message,
        /retention removed offsets \d+ to \d+.*At most \d+ records are lost.*Nothing was settled/s,
      )
      const [loss] = checkpoints.losses
      const from = Number(loss!.from.next)
      // The offset may be gone with the records it pointed to: then the loss is counted from where reading
      // began.
      assert.ok(progress === 'store' ? from === 3 : from <= 3, `from ${from}`)
      assert.deepEqual(
        { to: loss!.to!.next, records: loss!.records },
        { to: String(first), records: first - from },
      )
      await other.subscription.close()

      checkpoints.acceptLoss(made.name)
      const again = await openStream(t, made.name, {}, { log })
      const [delivery] = await again.take(1)
      assert.ok(Number(delivery!.place!.at) >= first)
      assert.deepEqual(checkpoints.stored(made.name), loss!.to)
    })
  }

  test('are declared lost when retention overtakes a consumer that is reading', async t => {
    const made = await createTestStream(t, { settings: tiny })
    const checkpoints = new MemoryCheckpoints()
    await made.send(...numbers(0, 4))
    const { subscription, take } = await openStream(
      t,
      made.name,
      { start: 'first' },
      { log: { checkpoints } },
    )
    await take(4)
    // Bodies that fill what may be read ahead, so that nobody asks for more while retention goes on.
    const huge = 'y'.repeat(900_000)
    await made.send(huge)
    await made.send(huge)
    for (let index = 0; index < 4; index++) await made.send(huge)
    await outgrow(made, 60)
    await assert.rejects(
      (async () => {
        for (;;) await subscription.settle(await subscription.receive(1))
      })(),
      { code: 'records_lost', message: /while they were being read/ },
    )
    const [loss] = checkpoints.losses
    assert.equal(
      loss!.from.next,
      '0',
      'the first four were delivered and never settled: they are gone as well',
    )
    assert.equal(loss!.records, Number(loss!.to!.next))
  })

  for (const progress of ['broker', 'store', 'only'] as const) {
    test(`are declared lost when the stream was created again and has grown, with progress ${progress}`, async t => {
      const made = await createTestStream(t)
      const checkpoints = new MemoryCheckpoints()
      const log = { progress, checkpoints }
      await made.send(...numbers(0, 5))
      const one = await openStream(t, made.name, { start: 'first' }, { log })
      await settle(one, 3, checkpoints)
      await one.subscription.close()
      await made.delete()
      await made.create()
      await made.send(...numbers(100, 110))
      const other = await openStream(t, made.name, { start: 'first' }, { log })
      await assert.rejects(other.subscription.receive(1), {
        code: 'records_lost',
        message: /deleted and created again.*The number of lost records is unknown/s,
      })
      await other.subscription.close()

      checkpoints.acceptLoss(made.name)
      const again = await openStream(t, made.name, {}, { log })
      assert.deepEqual(text(await again.take(10)), numbers(100, 110))
    })
  }

  test('are declared lost when the stream is deleted under a consumer', async t => {
    const made = await createTestStream(t)
    const checkpoints = new MemoryCheckpoints()
    await made.send(...numbers(0, 5))
    const { subscription, take } = await openStream(
      t,
      made.name,
      { start: 'first' },
      { log: { checkpoints } },
    )
    await take(5)
    await made.delete()
    await assert.rejects(subscription.receive(1), { code: 'records_lost', message: /the stream was deleted/ })
    assert.equal(checkpoints.losses[0]!.to, null)
    await subscription.close()
    await made.create()
  })

  test('are declared lost when the position is past the end', async t => {
    const made = await createTestStream(t)
    const checkpoints = new MemoryCheckpoints()
    const log = { progress: 'store' as const, checkpoints }
    await made.send(...numbers(0, 5))
    const one = await openStream(t, made.name, { start: 'first' }, { log })
    await one.take(5)
    await one.subscription.close()
    const { incarnation } = checkpoints.stored(made.name)!
    await checkpoints.begin(made.name, 1, { incarnation, next: '1000' })
    const other = await openStream(t, made.name, {}, { log })
    await assert.rejects(other.subscription.receive(1), {
      code: 'records_lost',
      message: /position is 1000, but the stream ends at/,
    })
  })

  test('are skipped permanently by a group that other clients used, once the loss is accepted', async t => {
    const made = await createTestStream(t)
    const checkpoints = new MemoryCheckpoints()
    await made.send(...numbers(0, 5))
    const { connection } = await openLink(readAddress(made.url, 'a test'), 'tests')
    storeOffset(connection, 'tester', made.name, 1_000n)
    await connection.close(1_000)
    const first = await openStream(t, made.name, {}, { log: { checkpoints } })
    await assert.rejects(first.subscription.receive(1), { code: 'records_lost' })
    await first.subscription.close()
    checkpoints.acceptLoss(made.name)
    const again = await openStream(t, made.name, {}, { log: { checkpoints } })
    await again.event('assigned')
    await made.send('new')
    assert.deepEqual(text(await again.take(1)), ['new'])
  })

  test('of a stream that is created again after an accepted loss are another loss', async t => {
    const made = await createTestStream(t)
    const checkpoints = new MemoryCheckpoints()
    const log = { progress: 'store' as const, checkpoints }
    await made.send(...numbers(0, 5))
    const one = await openStream(t, made.name, { start: 'first' }, { log })
    await settle(one, 3, checkpoints)
    await one.subscription.close()
    for (const lives of [2, 3]) {
      await made.delete()
      await made.create()
      await made.send(...numbers(lives * 100, lives * 100 + 5))
      const other = await openStream(t, made.name, {}, { log })
      await assert.rejects(other.subscription.receive(1), { code: 'records_lost' })
      await other.subscription.close()
      checkpoints.acceptLoss(made.name)
    }
    const [first, second] = checkpoints.losses
    assert.deepEqual(second!.from, first!.to, 'one that is open already is not declared again')
    const again = await openStream(t, made.name, {}, { log })
    assert.deepEqual(text(await again.take(5)), numbers(300, 305))
  })

  test('are not declared lost because the broker keeps stored offsets among the records', async t => {
    const made = await createTestStream(t)
    const checkpoints = new MemoryCheckpoints()
    const { subscription, take } = await openStream(
      t,
      made.name,
      { start: 'first' },
      { log: { checkpoints } },
    )
    for (let round = 0; round < 20; round++) {
      await made.send(`${round}`)
      await subscription.settle(await take(1))
    }
    const last = await (async () => {
      await made.send('last')
      return take(1)
    })()
    assert.ok(Number(last[0]!.place!.at) > 20, 'stored offsets take offsets of their own')
    assert.deepEqual(checkpoints.losses, [])
  })
})
