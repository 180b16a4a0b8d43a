import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'
import { openKafka, randomName, type TestKafka } from './fixture.ts'
import type { TransformOrders } from './policy-transform-process.ts'

const numbered = (from: number, count: number, partitions: number) =>
  Array.from({ length: count }, (_, index) => ({
    value: String(from + index),
    partition: (from + index) % partitions,
  }))

export const setUp = async (t: TestContext, partitions: number) => {
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

export const start = (t: TestContext, orders: TransformOrders) => {
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

export const working = (worker: ReturnType<typeof start>) => {
  const { exitCode } = worker.child
  if (exitCode !== null) throw new Error(`a worker ended with ${exitCode} by itself: ${worker.said}`)
  return worker
}

const valuesOf = async (kafka: TestKafka, topic: string) =>
  (await kafka.read(topic)).map(({ value, partition }) => ({ value: Number(value), partition }))

/** Each record once: the sevens as dead letters, the others as outputs, in order within a partition. */
export const assertOnce = async (kafka: TestKafka, { to, dead }: TransformOrders, total: number) => {
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

export const written = async (kafka: TestKafka, { to, dead }: TransformOrders) =>
  (await kafka.read(to)).length + (await kafka.read(dead)).length
