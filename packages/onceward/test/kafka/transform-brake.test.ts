import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { topic } from '../../src/drivers/kafka/topic.ts'
import { defineTransform, realEnvironment, runTransform, type TransformContract } from '../../src/index.ts'
import { startObserveServer } from '../../src/runtime/observe-server.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { openKafka, randomName, type TestKafka } from './fixture.ts'

interface Order {
  readonly n: number
  readonly type: string
}

const brake = { messagesMin: 20, shareMin: 0.25, pauseMs: 20, pauseMaxMs: 80 }

const setUp = async (t: TestContext, partitions: number) => {
  const kafka = await openKafka(t)
  const [from, to, dead] = [
    await kafka.createTopic({ partitions }),
    await kafka.createTopic(),
    await kafka.createTopic(),
  ]
  const open = async (map: (order: Order) => void, failure: TransformContract<Order>['failure'] = {}) => {
    const server = await startObserveServer({ host: '127.0.0.1', port: 0 })
    t.after(() => server.close())
    const transform = defineTransform<Order>({
      name: 'orders',
      owner: 'team',
      risk: 'low value',
      handlerVersion: '7',
      source: topic(from, { group: randomName('group'), start: 'earliest', sessionTimeoutMs: 6_000 }),
      identity: { id: 'position', type: order => order.type },
      failure: { deadLetter: dead, attemptsMax: 1, breaker: false, brake, ...failure },
      to: [to],
      map: ({ message }) => {
        map(message)
        return [{ topic: to, value: String(message.n) }]
      },
    })
    const env = realEnvironment({ meter: server.meter })
    const running = await runTransform(transform, { kafkaBootstrap: kafka.bootstrap, env })
    t.after(() => running.drain(5_000).catch(() => {}))
    const page = async () => (await fetch(`${server.url}/metrics`)).text()
    return { running, page }
  }
  return { kafka, from, to, dead, open }
}

const order = (n: number, { type = 'placed', partition = 0, key = `k${n}` } = {}) => ({
  value: JSON.stringify({ n, type }),
  partition,
  key,
})

const times = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, n) => make(n))

const valuesOf = async (kafka: TestKafka, name: string) =>
  (await kafka.read(name)).map(({ value }) => Number(value)).toSorted((a, b) => a - b)

/** The series of a paused type; one that has ended is NaN. */
const pauseIn = (text: string) =>
  text.split('\n').find(line => line.startsWith('onceward_consumer_braked{') && line.endsWith(' 1'))

describe('the brake of a transform', await skipWithout('kafka'), () => {
  for (const attemptsMax of [1, 3])
    test(`a bad deployment sets few records aside and goes on by itself, ${attemptsMax} attempts`, async t => {
      const { kafka, from, to, dead, open } = await setUp(t, 3)
      let isBad = true
      let calls = 0
      await kafka.produce(
        from,
        times(90, n => order(n, { partition: n % 3 })),
      )
      const { running, page } = await open(
        () => {
          calls++
          if (isBad) throw new TypeError('no such member')
        },
        { attemptsMax, delayMs: 1 },
      )
      await until('the type is paused', async () => pauseIn(await page()) !== undefined)
      assert.match(pauseIn(await page())!, /type="placed",cause="TypeError at [^"]*",version="7"\} 1$/)
      const before = calls
      await until('it has probed repeatedly', () => calls > before + 4)
      const set = (await kafka.read(dead)).length
      assert.ok(set < brake.messagesMin, `${set} were set aside`)
      assert.deepEqual(await kafka.read(to), [])
      isBad = false
      await until('the rest is written', async () => (await kafka.read(to)).length === 90 - set)
      assert.equal((await kafka.read(dead)).length, set)
      assert.equal(running.tally.outcomes.applied, 90 - set)
      await until('the pause is over', async () => pauseIn(await page()) === undefined)
      assert.match(await page(), /onceward_consumer_brakes_total\{consumer="orders"[^}]*\} 1\b/)
    })

  test('records that are faulty themselves end, although each partition stands at one', async t => {
    const { kafka, from, to, dead, open } = await setUp(t, 1)
    await kafka.produce(from, times(60, order))
    await open(({ n }) => {
      if (n < 40) throw new Error('faulty')
    })
    await until('all good ones are written', async () => (await kafka.read(to)).length === 20)
    assert.deepEqual(
      await valuesOf(kafka, to),
      times(20, n => n + 40),
    )
    assert.equal((await kafka.read(dead)).length, 40)
  })

  test('partitions with other types continue', async t => {
    const { kafka, from, to, dead, open } = await setUp(t, 2)
    const bad = times(40, n => order(n))
    await kafka.produce(from, bad)
    const { page } = await open(({ type }) => {
      if (type === 'placed') throw new Error('bad deployment')
    })
    await until('the type is paused', async () => pauseIn(await page()) !== undefined)
    await kafka.produce(
      from,
      times(30, n => order(n + 100, { type: 'paid', partition: 1 })),
    )
    await until('the others are written', async () => (await kafka.read(to)).length === 30)
    assert.ok((await kafka.read(dead)).length < brake.messagesMin)
    assert.notEqual(pauseIn(await page()), undefined)
  })

  test('the records of one key pause nothing', async t => {
    const { kafka, from, to, dead, open } = await setUp(t, 1)
    await kafka.produce(from, [...times(40, n => order(n, { key: 'one' })), order(40)])
    await open(({ n }) => {
      if (n < 40) throw new Error('bad producer')
    })
    await until('the last one is written', async () => (await kafka.read(to)).length === 1)
    assert.equal((await kafka.read(dead)).length, 40)
  })
})
