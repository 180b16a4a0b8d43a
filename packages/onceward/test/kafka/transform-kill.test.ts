import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, type TestContext, test } from 'node:test'
import type { CrashPoint } from '../../src/crash-points.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { openKafka, randomName, type TestKafka } from './fixture.ts'
import type { TransformOrders } from './policy-transform-process.ts'

const numbered = (from: number, count: number, partitions: number) =>
  Array.from({ length: count }, (_, index) => ({
    value: String(from + index),
    partition: (from + index) % partitions,
  }))

const setUp = async (t: TestContext, partitions: number) => {
  const kafka = await openKafka(t)
  const [from, to, dead] = [
    await kafka.createTopic({ partitions }),
    await kafka.createTopic({ partitions }),
    await kafka.createTopic(),
  ]
  const group = randomName('group')
  const orders = (more: Partial<TransformOrders> = {}): TransformOrders => ({
    bootstrap: kafka.bootstrap,
    ...{ from, to, dead, group, batchMax: 20, delayMs: 1, ...more },
  })
  let total = 0
  const feed = async (count: number) => {
    await kafka.produce(from, numbered(total, count, partitions))
    total += count
  }
  return { kafka, from, to, dead, group, orders, feed, total: () => total }
}

const start = (t: TestContext, orders: TransformOrders) => {
  const file = join(import.meta.dirname, 'policy-transform-process.ts')
  const flags = ['--conditions=@onceward/source', file, JSON.stringify(orders)]
  const child = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = new Promise<string>(resolve =>
    child.once('exit', (code, signal) => resolve(signal ?? `exit ${code}`)),
  )
  t.after(() => child.kill('SIGKILL'))
  const state = { child, ended, committed: -1, said: '' }
  createInterface({ input: child.stdout! }).on('line', line => {
    state.committed = line === 'started' ? 0 : Number(line)
  })
  child.stderr!.on('data', (bytes: Buffer) => {
    state.said += bytes.toString()
  })
  return state
}

const working = (worker: ReturnType<typeof start>) => {
  const { exitCode } = worker.child
  if (exitCode !== null) throw new Error(`a worker ended with ${exitCode} by itself: ${worker.said}`)
  return worker
}

const valuesOf = async (kafka: TestKafka, topic: string) =>
  (await kafka.read(topic)).map(({ value, partition }) => ({ value: Number(value), partition }))

/** Each record once: the sevens as dead letters, the others as outputs, in order within a partition. */
const assertOnce = async (kafka: TestKafka, { to, dead }: TransformOrders, total: number) => {
  const [outputs, letters] = [await valuesOf(kafka, to), await valuesOf(kafka, dead)]
  const all = Array.from({ length: total }, (_, value) => value)
  const sorted = (some: readonly { value: number }[]) =>
    some.map(({ value }) => value).toSorted((a, b) => a - b)
  assert.deepEqual(
    sorted(outputs),
    all.filter(value => value % 10 !== 7),
  )
  assert.deepEqual(
    sorted(letters),
    all.filter(value => value % 10 === 7),
  )
  for (const [, some] of Map.groupBy(outputs, ({ partition }) => partition)) {
    const inOrder = some.map(({ value }) => value)
    assert.deepEqual(
      inOrder,
      inOrder.toSorted((a, b) => a - b),
    )
  }
}

const written = async (kafka: TestKafka, { to, dead }: TransformOrders) =>
  (await kafka.read(to)).length + (await kafka.read(dead)).length

const points: readonly CrashPoint[] = ['transform.produced', 'transform.positioned', 'transform.committed']

describe('a transform whose process is killed', await skipWithout('kafka'), () => {
  for (const point of points) {
    test(`at ${point} writes each output and each dead letter once`, async t => {
      const { kafka, orders, feed, total } = await setUp(t, 2)
      await feed(120)
      for (const hit of [1, 2, 3]) {
        const dying = start(t, orders({ instance: 'one', dieAt: { point, hit } }))
        assert.equal(await dying.ended, 'SIGKILL', dying.said)
        await feed(60)
      }
      const heir = start(t, orders({ instance: 'one' }))
      const all = async () => working(heir) && (await written(kafka, orders())) >= total()
      await until('all is written', all, { deadlineMs: 90_000 })
      await assertOnce(kafka, orders(), total())
    })
  }

  test('at any moment, beside others that retry, loses, doubles and reorders nothing', async t => {
    const { kafka, orders, feed, total } = await setUp(t, 4)
    await feed(200)
    // Named and unnamed: the one regains its partitions, those of the other wait for its session to end.
    const named = (index: number) => orders({ delayMs: 200, ...(index === 0 && { instance: 'named' }) })
    const workers = [start(t, named(0)), start(t, named(1))]
    for (const victim of [0, 1, 0]) {
      const before = Math.max(0, workers[victim]!.committed)
      await until('the victim works', async () => {
        await feed(40)
        return working(workers[victim]!).committed > before + 1
      })
      workers[victim]!.child.kill('SIGKILL')
      await workers[victim]!.ended
      workers[victim] = start(t, named(victim))
    }
    await until(
      'all is written',
      async () => {
        workers.forEach(working)
        return (await written(kafka, orders())) >= total()
      },
      { deadlineMs: 120_000 },
    )
    await assertOnce(kafka, orders(), total())
  })

  test('joined and left by others during retries, moves its partitions without a loss', async t => {
    const { kafka, orders, feed, total } = await setUp(t, 6)
    await feed(300)
    const slow = orders({ delayMs: 400, batchMax: 10 })
    const first = start(t, slow)
    await until('the first works', () => working(first).committed > 1)
    const second = start(t, slow)
    await until('the second works', async () => {
      await feed(60)
      return working(second).committed > 1
    })
    first.child.kill('SIGTERM')
    assert.equal(await first.ended, 'exit 0', first.said)
    const third = start(t, slow)
    await until(
      'all is written',
      async () => {
        for (const worker of [second, third]) working(worker)
        return (await written(kafka, slow)) >= total()
      },
      { deadlineMs: 120_000 },
    )
    await assertOnce(kafka, slow, total())
  })
})
