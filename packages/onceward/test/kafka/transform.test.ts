import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, type TestContext, test } from 'node:test'
import {
  createKafkaTransform,
  type KafkaTransformOptions,
  kafkaTransformPromise,
} from '../../src/drivers/kafka/transform.ts'
import type { OncewardError } from '../../src/errors.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { openKafka, randomName, type TestKafka } from './fixture.ts'

const numbered = (from: number, count: number, partitions: number) =>
  Array.from({ length: count }, (_, index) => ({
    value: String(from + index),
    partition: (from + index) % partitions,
  }))

const setUp = async (t: TestContext, partitions = 3) => {
  const kafka = await openKafka(t)
  const [input, output] = [await kafka.createTopic({ partitions }), await kafka.createTopic({ partitions })]
  return { kafka, input, output, group: randomName('group') }
}

type Given = Partial<KafkaTransformOptions> & Pick<KafkaTransformOptions, 'map'>

const open = async (t: TestContext, kafka: TestKafka, from: string, group: string, given: Given) => {
  const transform = createKafkaTransform({
    bootstrap: kafka.bootstrap,
    from,
    group,
    start: 'earliest',
    sessionTimeoutMs: 6_000,
    ...given,
  })
  await transform.start()
  t.after(() => transform.drain().catch(() => {}))
  return transform
}

const copyTo =
  (topic: string): KafkaTransformOptions['map'] =>
  ({ key, value, partition }) => [{ topic, key, value, partition }]

/** All of them, each once, and in order within a partition. */
const assertOnce = async (kafka: TestKafka, output: string, count: number) => {
  const records = await kafka.read(output)
  const values = records.map(({ value }) => Number(value))
  const often = values.filter((value, index) => values.indexOf(value) !== index)
  assert.deepEqual({ often, count: values.length }, { often: [], count })
  for (const [, some] of Map.groupBy(records, ({ partition }) => partition)) {
    const inOrder = some.map(({ value }) => Number(value))
    assert.deepEqual(
      inOrder,
      inOrder.toSorted((a, b) => a - b),
    )
  }
}

const outputs = async (kafka: TestKafka, topic: string) => (await kafka.read(topic)).length

test('the promise lists what it does not cover', () => {
  assert.match(kafkaTransformPromise, /covers Kafka only/)
  assert.match(kafkaTransformPromise, /database/)
})

describe('a transform', await skipWithout('kafka'), () => {
  test('writes the outputs of each record once, in order, and commits its position', async t => {
    const { kafka, input, output, group } = await setUp(t)
    await kafka.produce(input, [{ value: null, key: 'gone', partition: 0, headers: { a: 'b' } }])
    await kafka.produce(input, numbered(0, 300, 3))
    const seen: unknown[] = []
    const transform = await open(t, kafka, input, group, {
      batchMax: 70,
      map: record => {
        if (record.value === null) seen.push([record.key?.toString(), record.headers.a?.toString()])
        const value = Number(record.value)
        if (record.value === null || value % 2 === 1) return []
        return [
          { topic: output, partition: record.partition, value: String(value) },
          { topic: output, partition: record.partition, value: String(value + 1), headers: { made: 'here' } },
        ]
      },
    })
    await until('all is written', async () => (await outputs(kafka, output)) === 300)
    await transform.drain()
    await assertOnce(kafka, output, 300)
    assert.deepEqual(seen, [['gone', 'b']])
    assert.deepEqual([...(await kafka.committed(group, input))].sort(), [
      [0, 101],
      [1, 100],
      [2, 100],
    ])
    assert.equal(transform.tally.records, 301)
  })

  test('continues where the last one stopped', async t => {
    const { kafka, input, output, group } = await setUp(t)
    for (let round = 0; round < 3; round++) {
      await kafka.produce(input, numbered(round * 30, 30, 3))
      const transform = await open(t, kafka, input, group, { map: copyTo(output) })
      await until('a round is written', async () => (await outputs(kafka, output)) === (round + 1) * 30)
      await transform.drain()
    }
    await assertOnce(kafka, output, 90)
  })

  test('shares partitions with members that join and leave', async t => {
    const { kafka, input, output, group } = await setUp(t, 6)
    let total = 0
    const feed = async (count: number) => {
      await kafka.produce(input, numbered(total, count, 6))
      total += count
    }
    await feed(2_000)
    const map: KafkaTransformOptions['map'] = async record => {
      await new Promise(resolve => setImmediate(resolve))
      return copyTo(output)(record)
    }
    const given = { map, batchMax: 10 }
    const first = await open(t, kafka, input, group, given)
    await until('the first works', () => first.tally.records > 200)
    const second = await open(t, kafka, input, group, given)
    // Fed while waiting: the first may have taken all there was before the second had its share.
    await until('the second works', async () => {
      await feed(60)
      return second.tally.records > 200
    })
    await first.drain()
    const third = await open(t, kafka, input, group, given)
    await until('all is written', async () => (await outputs(kafka, output)) >= total)
    await Promise.all([second.drain(), third.drain()])
    await assertOnce(kafka, output, total)
  })

  test('keeps its promise with the newer group protocol too', async t => {
    const { kafka, input, output, group } = await setUp(t, 4)
    await kafka.produce(input, numbered(0, 1_000, 4))
    const given = {
      protocol: 'consumer',
      sessionTimeoutMs: 45_000,
      map: copyTo(output),
      batchMax: 10,
    } as const
    const first = await open(t, kafka, input, group, given)
    await until('the first works', () => first.tally.records > 50)
    const second = await open(t, kafka, input, group, given)
    await until('all is written', async () => (await outputs(kafka, output)) >= 1_000)
    await Promise.all([first.drain(), second.drain()])
    await assertOnce(kafka, output, 1_000)
  })

  test('ends with an error when another of the same name starts', async t => {
    const { kafka, input, output, group } = await setUp(t, 1)
    const given = { instance: 'worker', map: copyTo(output) }
    const first = await open(t, kafka, input, group, given)
    await kafka.produce(input, numbered(0, 5, 1))
    await until('the first works', async () => (await outputs(kafka, output)) === 5)
    const second = await open(t, kafka, input, group, given)
    await assert.rejects(first.finished, (error: OncewardError) => {
      assert.equal(error.code, 'configuration')
      assert.match(error.message, /instance/)
      return true
    })
    await kafka.produce(input, numbered(5, 5, 1))
    await until('the second works', async () => (await outputs(kafka, output)) === 10)
    await until('and has counted it', () => second.tally.records >= 5)
    assert.equal(second.tally.records, 5)
    await assertOnce(kafka, output, 10)
  })

  test('that throws halts, with nothing of the transaction visible or committed', async t => {
    const { kafka, input, output, group } = await setUp(t, 1)
    await kafka.produce(input, numbered(0, 10, 1))
    const map: KafkaTransformOptions['map'] = record => {
      if (record.value?.toString() === '7') throw new Error('seven')
      return copyTo(output)(record)
    }
    const transform = await open(t, kafka, input, group, { map })
    await assert.rejects(transform.finished, (error: OncewardError) => {
      assert.equal(error.code, 'consumer_halted')
      assert.match(error.message, /\/0@7: Error: seven/)
      return true
    })
    assert.deepEqual(await kafka.read(output), [])
    assert.deepEqual([...(await kafka.committed(group, input)).values()], [0])
    const dead = await kafka.createTopic()
    await open(t, kafka, input, group, { map, deadLetter: dead })
    await until('the others are written', async () => (await outputs(kafka, output)) === 9)
    // One transaction, but every partition shows it in its own time.
    await until('the dead letter is written', async () => (await outputs(kafka, dead)) === 1)
    const [letter] = await kafka.read(dead)
    assert.equal(letter!.value, '7')
    assert.equal(letter!.headers['onceward-position'], `${input}/0@7`)
    assert.match(letter!.headers['onceward-reason']!, /seven/)
  })

  test('halts on an output that no topic accepts, and on lost records', async t => {
    const { kafka, input, output, group } = await setUp(t, 1)
    await kafka.produce(input, numbered(0, 5, 1))
    const lost = await open(t, kafka, input, group, { map: copyTo('not.there') })
    await assert.rejects(lost.finished, (error: OncewardError) => error.code === 'publish_unroutable')
    await kafka.deleteRecords(input, 0, 3)
    const late = await open(t, kafka, input, group, { map: copyTo(output) })
    await assert.rejects(late.finished, (error: OncewardError) => error.code === 'records_lost')
    assert.deepEqual(await kafka.read(output), [])
  })

  test('needs an existing topic and a broker that answers', async () => {
    const base = { group: 'g', start: 'earliest', map: () => [] } as const
    const bad = createKafkaTransform({ ...base, bootstrap: '127.0.0.1:1', from: 'a' })
    await assert.rejects(bad.start(), (error: OncewardError) => error.code === 'broker_unreachable')
    assert.throws(() => createKafkaTransform({ ...base, bootstrap: 'a', from: 'a' }), /host:port/)
  })

  describe('in processes that are killed and frozen', () => {
    const start = (t: TestContext, options: object) => {
      const file = join(import.meta.dirname, 'transform-process.ts')
      const flags = ['--conditions=@onceward/source', file, JSON.stringify(options)]
      const child = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'pipe'] })
      t.after(() => child.kill('SIGKILL'))
      const state = { child, records: -1, said: '' }
      createInterface({ input: child.stdout! }).on('line', line => {
        state.records = line === 'started' ? 0 : Number(line)
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
    const gone = (child: ChildProcess) => new Promise(resolve => child.once('exit', resolve))

    for (const named of [true, false]) {
      test(`shows every output once, killed again and again, ${named ? 'with' : 'without'} a name of its own`, async t => {
        const { kafka, input, output, group } = await setUp(t, 4)
        let total = 0
        const feed = async (count: number) => {
          await kafka.produce(input, numbered(total, count, 4))
          total += count
        }
        await feed(1_000)
        const options = (index: number) => ({
          bootstrap: kafka.bootstrap,
          from: input,
          to: output,
          group,
          start: 'earliest',
          sessionTimeoutMs: 6_000,
          transactionTimeoutMs: 6_000,
          batchMax: 40,
          workMs: 1,
          ...(named && { instance: `worker-${index}` }),
        })
        const workers = [start(t, options(0)), start(t, options(1))]
        for (const victim of [0, 1, 0]) {
          const before = Math.max(0, workers[victim]!.records)
          // Fed while waiting: the other may have taken all there was before the victim had its share.
          await until('the victim works', async () => {
            await feed(40)
            return working(workers[victim]!).records > before
          })
          const dead = gone(workers[victim]!.child)
          workers[victim]!.child.kill('SIGKILL')
          await dead
          workers[victim] = start(t, options(victim))
        }
        const written = async () => {
          workers.forEach(working)
          return (await outputs(kafka, output)) >= total
        }
        await until('all is written', written, { deadlineMs: 120_000 })
        await assertOnce(kafka, output, total)
      })
    }

    test('shows every output once when a frozen member wakes after another took its partitions', async t => {
      const { kafka, input, output, group } = await setUp(t, 2)
      let total = 0
      const feed = async (count: number) => {
        await kafka.produce(input, numbered(total, count, 2))
        total += count
      }
      await feed(1_000)
      const options = {
        bootstrap: kafka.bootstrap,
        from: input,
        to: output,
        group,
        start: 'earliest',
        sessionTimeoutMs: 6_000,
        transactionTimeoutMs: 15_000,
        batchMax: 60,
        workMs: 2,
      }
      const frozen = start(t, options)
      await until('it works', () => frozen.records > 100)
      frozen.child.kill('SIGSTOP')
      const heir = start(t, options)
      // Fed while waiting: the frozen one may have taken all there was before it was stopped.
      await until('the heir works', async () => {
        await feed(20)
        return heir.records > 100
      })
      frozen.child.kill('SIGCONT')
      await until('all is written', async () => (await outputs(kafka, output)) >= total, {
        deadlineMs: 120_000,
      })
      await assertOnce(kafka, output, total)
    })
  })
})
