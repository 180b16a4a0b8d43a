import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { storeOffset } from '../../src/drivers/rabbitmq-stream/wire/commands.ts'
import type { LogOptions } from '../../src/ports/source.ts'
import { MemoryCheckpoints } from '../../src/testing/memory-checkpoints.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { createTestStream, numbers, openStream, type TestStream, text } from './broker.ts'
import { openWatch, positionOf } from './outside.ts'
import { startRecoveringBroker } from './recovering-broker.ts'

const nothing = -1
const always = Number.POSITIVE_INFINITY

/** Ten records, five of them settled by a consumer that has left. */
async function halfRead(t: TestContext, progress: LogOptions['progress']) {
  const made = await createTestStream(t)
  const checkpoints = new MemoryCheckpoints()
  const log = { progress, checkpoints }
  await made.send(...numbers(0, 10))
  const { subscription, take } = await openStream(t, made.name, { start: 'first' }, { log })
  const done = (await take(10)).slice(0, 5)
  checkpoints.advance(subscription.log!.progressWith(done, done))
  await subscription.settle(done)
  await subscription.close()
  const broker = await startRecoveringBroker(t, made.url)
  const open = () => openStream(t, made.name, { url: broker.url }, { log })
  return { made, checkpoints, broker, open, from: checkpoints.stored(made.name)! }
}

/** Has the loss declared that a broker makes up by recovering for too long. */
async function falselyLost(t: TestContext) {
  const scene = await halfRead(t, 'only')
  scene.broker.recover(2, always, { shorter: true })
  const { subscription } = await scene.open()
  await assert.rejects(subscription.receive(1), { code: 'records_lost', message: /the stream ends at 3/ })
  await subscription.close()
  scene.broker.recovered()
  return scene
}

async function pastEnd(t: TestContext) {
  const made = await createTestStream(t)
  const checkpoints = new MemoryCheckpoints()
  const log = { progress: 'only' as const, checkpoints }
  await made.send(...numbers(0, 5))
  const one = await openStream(t, made.name, { start: 'first' }, { log })
  await one.take(5)
  await one.subscription.close()
  const { incarnation } = checkpoints.stored(made.name)!
  await checkpoints.begin(made.name, 1, { incarnation, next: '60' })
  return { made, checkpoints, open: () => openStream(t, made.name, {}, { log }) }
}

async function grow(made: TestStream, count: number): Promise<void> {
  await made.send(...numbers(100, 100 + count))
}

describe('a stream that recovers', { timeout: 120_000, ...(await skipWithout('rabbitmq')) }, () => {
  for (const progress of ['broker', 'store', 'only'] as const) {
    for (const [what, committed] of [
      ['ends at 0', nothing],
      ['ends before the position', 2],
    ] as const) {
      test(`and reports for a while that it ${what} has lost nothing, with progress ${progress}`, async t => {
        const { checkpoints, broker, open } = await halfRead(t, progress)
        broker.recover(committed, 9)
        const { take } = await open()
        assert.deepEqual(text(await take(5)), numbers(5, 10))
        assert.equal(broker.falseAnswers, 9)
        assert.deepEqual(checkpoints.losses, [])
      })
    }
  }

  for (const [start, expected] of [
    ['next', ['new']],
    ['first', [...numbers(0, 10), 'new']],
  ] as const) {
    test(`is begun by a new consumer at its ${start} record as soon as it is known`, async t => {
      const made = await createTestStream(t)
      await made.send(...numbers(0, 10))
      const broker = await startRecoveringBroker(t, made.url)
      broker.recover(nothing, 9)
      const opened = await openStream(t, made.name, { url: broker.url, start })
      await opened.event('assigned')
      await made.send('new')
      assert.deepEqual(text(await opened.take(expected.length)), expected)
    })
  }

  test('is begun at an offset that it does not serve yet', async t => {
    const made = await createTestStream(t)
    await made.send(...numbers(0, 10))
    const broker = await startRecoveringBroker(t, made.url)
    broker.recover(2, 9)
    const opened = await openStream(t, made.name, { url: broker.url, start: 7 })
    assert.deepEqual(text(await opened.take(3)), numbers(7, 10))
  })

  for (const [what, committed] of [
    ['nothing', nothing],
    ['less than it has written', 2],
  ] as const)
    test(`and serves ${what} for long is waited for: no loss is declared`, async t => {
      const { checkpoints, broker, open } = await halfRead(t, 'store')
      broker.recover(committed, always)
      const opened = await open()
      const event = await opened.event('disconnected')
      assert.match('reason' in event ? event.reason : '', /still recovering/)
      assert.deepEqual(checkpoints.losses, [])
      broker.recovered()
      assert.deepEqual(text(await opened.take(5)), numbers(5, 10))
      assert.deepEqual(checkpoints.losses, [])
    })

  test('after a loss was declared anyway has it withdrawn at the next start', async t => {
    const { made, checkpoints, open, from } = await falselyLost(t)
    const { take } = await open()
    assert.deepEqual(text(await take(5)), numbers(5, 10))
    const [withdrawn] = checkpoints.withdrawn
    assert.deepEqual([withdrawn?.partition, withdrawn?.from], [made.name, from])
    assert.match(withdrawn!.reason, /has its records from \d+ on after all/)
  })

  test('after such a loss was accepted repeats nothing: the position does not move back', async t => {
    const { made, checkpoints, open } = await falselyLost(t)
    checkpoints.acceptLoss(made.name)
    const { take } = await open()
    assert.deepEqual(text(await take(5)), numbers(5, 10))
    assert.equal(checkpoints.withdrawn.length, 1)
  })
})

describe('a broker that lost an offset with its leader', {
  timeout: 120_000,
  ...(await skipWithout('rabbitmq')),
}, () => {
  for (const [progress, next] of [
    ['first', 5],
    ['broker', 3],
  ] as const) {
    test(`makes a consumer continue at ${next} of 5 with progress ${progress}`, async t => {
      const made = await createTestStream(t)
      const checkpoints = new MemoryCheckpoints()
      const log = { progress, checkpoints }
      await made.send(...numbers(0, 10))
      const { subscription, take } = await openStream(t, made.name, { start: 'first' }, { log })
      await subscription.settle(await take(5))
      await subscription.close()
      const connection = await openWatch(made.url)
      await until(
        'the offset is stored',
        async () => (await positionOf(connection, 'tester', made.name)) === '5',
      )
      storeOffset(connection, 'tester', made.name, 2n)
      await connection.close(1_000)
      const again = await openStream(t, made.name, {}, { log })
      assert.deepEqual(text(await again.take(10 - next)), numbers(next, 10))
    })
  }
})

describe('a stream that did lose its end', { timeout: 120_000, ...(await skipWithout('rabbitmq')) }, () => {
  test('is declared within seconds', async t => {
    const { checkpoints, open } = await pastEnd(t)
    const began = performance.now()
    const { subscription } = await open()
    await assert.rejects(subscription.receive(1), { code: 'records_lost' })
    assert.ok(performance.now() - began < 15_000)
    assert.equal(checkpoints.losses.length, 1)
  })

  test('is declared although it grows past the position meanwhile', async t => {
    const { made, checkpoints, open } = await pastEnd(t)
    const growing = new AbortController()
    const grown = (async () => {
      for (let count = 0; !growing.signal.aborted && count < 200; count++) await made.send('grown')
    })()
    const { subscription } = await open()
    await assert.rejects(subscription.receive(1), { code: 'records_lost', message: /the stream ends at/ })
    growing.abort()
    await grown
    assert.equal(checkpoints.losses.length, 1)
  })

  test('stays lost when it has grown past the position since, and continues after its old end', async t => {
    const { made, checkpoints, open } = await pastEnd(t)
    const first = await open()
    await assert.rejects(first.subscription.receive(1), { code: 'records_lost' })
    await first.subscription.close()
    await grow(made, 20)
    const meanwhile = await open()
    await assert.rejects(meanwhile.subscription.receive(1), {
      code: 'records_lost',
      message: /resumes at 6\./,
    })
    await meanwhile.subscription.close()
    await made.send(...numbers(120, 180))
    const second = await open()
    await assert.rejects(second.subscription.receive(1), {
      code: 'records_lost',
      message: /before 60 when this loss was declared, and has grown past it/,
    })
    await second.subscription.close()
    const [one, two, three] = checkpoints.losses.map(({ to }) => to)
    assert.deepEqual([two, three], [one, one], 'what came meanwhile is not skipped')
    assert.deepEqual(checkpoints.withdrawn, [])
    checkpoints.acceptLoss(made.name)
    const third = await open()
    assert.deepEqual(text(await third.take(80)), numbers(100, 180))
  })
})
