import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { topic } from '../../src/drivers/kafka/topic.ts'
import {
  defineTransform,
  ignore,
  type OncewardError,
  quarantine,
  realEnvironment,
  retryAfter,
  runTransform,
  type TransformContract,
} from '../../src/index.ts'
import { startObserveServer } from '../../src/runtime/observe-server.ts'
import { until } from '../../src/testing/until.ts'
import { skipWithout } from '../services/services.ts'
import { producerContext, registerTracing, spansNamed } from '../telemetry/tracing.ts'
import { openKafka, randomName, type TestKafka } from './fixture.ts'

interface Order {
  readonly id?: string
  readonly n: number
}

registerTracing()

type Given = Partial<TransformContract<Order>>

const setUp = async (t: TestContext, partitions = 1) => {
  const kafka = await openKafka(t)
  const [from, to, dead] = [
    await kafka.createTopic({ partitions }),
    await kafka.createTopic({ partitions }),
    await kafka.createTopic(),
  ]
  const group = randomName('group')
  const contract = (given: Given = {}) =>
    defineTransform<Order>({
      name: 'orders',
      owner: 'team',
      risk: 'low value',
      source: topic(from, { group, start: 'earliest', sessionTimeoutMs: 6_000 }),
      to: [to],
      map: ({ message, envelope }) => [copy(to, message, envelope.position!)],
      ...given,
      failure: { deadLetter: dead, delayMs: 5, ...given.failure },
    })
  const open = async (given: Given = {}, env = realEnvironment()) => {
    const running = await runTransform(contract(given), { kafkaBootstrap: kafka.bootstrap, env })
    t.after(() => running.drain(5_000).catch(() => {}))
    return running
  }
  const orders = (count: number, first = 0) =>
    Array.from({ length: count }, (_, index) => ({
      value: JSON.stringify({ n: first + index }),
      partition: (first + index) % partitions,
      key: `k${first + index}`,
    }))
  return { kafka, from, to, dead, group, open, orders, contract }
}

const copy = (to: string, { n }: Order, position: string) => ({
  topic: to,
  partition: Number(position.split('/').at(-1)!.split('@')[0]),
  value: String(n),
})

const valuesOf = async (kafka: TestKafka, name: string) =>
  (await kafka.read(name)).map(({ value }) => Number(value))

const written = (kafka: TestKafka, name: string, count: number) =>
  until(`${count} records are written`, async () => (await kafka.read(name)).length >= count)

describe('the failure policy of a transform', await skipWithout('kafka'), () => {
  test('sets hostile records aside with their origin, in the transaction of their offset', async t => {
    const { kafka, from, to, dead, group, open, orders } = await setUp(t)
    await kafka.produce(from, [
      ...orders(2),
      { value: 'no json', key: 'a', headers: { kept: 'yes' } },
      { value: 'x'.repeat(3_000) },
      { value: '{"n":"text"}' },
      { value: null, key: 'gone' },
      ...orders(2, 2),
    ])
    const isOrder = (value: unknown) => typeof (value as Order)?.n === 'number'
    const schema = {
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: (value: unknown) =>
          isOrder(value) ? { value: value as Order } : { issues: [{ message: 'n is no number' }] },
      },
    }
    await open({ message: { schema, limits: { bytesMax: 1_000 } } })
    await written(kafka, to, 4)
    await written(kafka, dead, 4)
    assert.deepEqual(await valuesOf(kafka, to), [0, 1, 2, 3])
    const letters = await kafka.read(dead)
    assert.deepEqual(
      letters.map(({ headers }) => [
        headers['onceward-position'],
        headers['onceward-code'],
        headers['onceward-state'],
      ]),
      [
        [`${from}/0@2`, 'undecodable', 'quarantined'],
        [`${from}/0@3`, 'over_limit', 'quarantined'],
        [`${from}/0@4`, 'invalid', 'dead'],
        [`${from}/0@5`, 'tombstone', 'quarantined'],
      ],
    )
    const [first] = letters
    assert.deepEqual(
      { value: first!.value, key: first!.key?.toString(), kept: first!.headers.kept },
      { value: 'no json', key: 'a', kept: 'yes' },
    )
    assert.equal(first!.headers['onceward-consumer'], 'orders/1')
    assert.equal(first!.headers['onceward-class'], 'poison')
    assert.equal(first!.headers['onceward-origin'], from)
    assert.equal(first!.headers['onceward-attempts'], '1')
    assert.equal(first!.headers['kafka_dlt-original-topic'], from)
    assert.equal(first!.headers['onceward-held-id'], undefined)
    assert.equal(letters[3]!.value, null)
    assert.deepEqual([...(await kafka.committed(group, from))], [[0, 8]])
  })

  test('refuses a record without the id that its contract reads', async t => {
    const { kafka, from, to, dead, open } = await setUp(t)
    await kafka.produce(from, ['{"n":0,"id":"a"}', '{"n":1}', '{"n":2,"id":"c"}'])
    await open({ identity: { id: ({ id }) => id } })
    await written(kafka, to, 2)
    await written(kafka, dead, 1)
    const [letter] = await kafka.read(dead)
    assert.equal(letter!.headers['onceward-code'], 'id_missing')
    assert.equal(letter!.headers['message-id'], `${from}/0@1`)
  })

  test('retries in place, a bounded number of times, in the order of the partition', async t => {
    const { kafka, from, to, dead, open, orders } = await setUp(t, 2)
    await kafka.produce(from, orders(20))
    const tries = new Map<number, number>()
    const order: number[] = []
    const running = await open({
      failure: { attemptsMax: 3, breaker: false },
      map: ({ message, envelope }) => {
        tries.set(message.n, (tries.get(message.n) ?? 0) + 1)
        if (message.n === 4) throw new Error('always')
        if (message.n === 7 && tries.get(7)! < 3) throw new Error('twice')
        if (message.n % 2 === 0) order.push(message.n)
        return [copy(to, message, envelope.position!)]
      },
    })
    await written(kafka, to, 19)
    await written(kafka, dead, 1)
    const outputs = await kafka.read(to)
    for (const partition of [0, 1]) {
      const values = outputs.filter(one => one.partition === partition).map(({ value }) => Number(value))
      const wanted = Array.from({ length: 10 }, (_, index) => index * 2 + partition).filter(n => n !== 4)
      assert.deepEqual(values, wanted)
    }
    assert.deepEqual([tries.get(4), tries.get(7)], [3, 3])
    const [letter] = await kafka.read(dead)
    assert.deepEqual(
      [letter!.value, letter!.headers['onceward-attempts'], letter!.headers['onceward-state']],
      ['{"n":4}', '3', 'dead'],
    )
    assert.match(letter!.headers['onceward-reason']!, /always/)
    assert.equal(letter!.headers['onceward-exception'], 'Error')
    const [first, last] = ['first', 'last'].map(one =>
      Date.parse(letter!.headers[`onceward-${one}-failure`]!),
    )
    assert.ok(first! < last! && last! - first! < 60_000, `${first} ${last}`)
    assert.deepEqual([order.indexOf(6) > order.indexOf(2), running.tally.outcomes.retry], [true, 4])
  })

  test('continues with other partitions while one waits for its next attempt', async t => {
    const { kafka, from, to, open, orders } = await setUp(t, 2)
    let heals = false
    await kafka.produce(from, orders(10))
    await open({
      failure: { delayMs: 200, delayMaxMs: 200, attemptsMax: 1_000, breaker: false },
      map: ({ message, envelope }) => {
        if (message.n === 0 && !heals) throw new Error('not yet')
        return [copy(to, message, envelope.position!)]
      },
    })
    await written(kafka, to, 5)
    await kafka.produce(from, orders(10, 10))
    await written(kafka, to, 10)
    assert.deepEqual(
      (await valuesOf(kafka, to)).filter(n => n % 2 === 0),
      [],
    )
    heals = true
    await written(kafka, to, 20)
    assert.deepEqual(
      (await valuesOf(kafka, to)).filter(n => n % 2 === 0),
      [0, 2, 4, 6, 8, 10, 12, 14, 16, 18],
    )
  })

  test('pauses for an unavailable dependency, and sets nothing aside', async t => {
    const { kafka, from, to, dead, open, orders } = await setUp(t, 3)
    let isDown = true
    await kafka.produce(from, orders(30))
    const refused = () => Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
    const running = await open({
      // A partition that arrives before the others waits for them: alone, it would be no outage.
      failure: {
        attemptsMax: 3,
        delayMs: 2_000,
        jitter: false,
        breaker: { failuresMax: 3, pauseMs: 50, pauseMaxMs: 100 },
      },
      map: async ({ message, envelope }) => {
        if (isDown) throw refused()
        return [copy(to, message, envelope.position!)]
      },
    })
    await until('it is paused', () =>
      running.health().reasons.includes('paused: a dependency is unavailable'),
    )
    const { retry = 0 } = running.tally.outcomes
    await until('it has probed', () => (running.tally.outcomes.retry ?? 0) >= retry + 5)
    isDown = false
    await written(kafka, to, 30)
    await until('it is ready again', () => running.health().ready)
    assert.deepEqual(await kafka.read(dead), [])
    for (const [, some] of Map.groupBy(await kafka.read(to), ({ partition }) => partition)) {
      const values = some.map(({ value }) => Number(value))
      assert.deepEqual(
        values,
        values.toSorted((a, b) => a - b),
      )
    }
  })

  test('without a dead-letter topic halts at the record, after its attempts, and commits those before', async t => {
    const { kafka, from, to, group, open, orders, contract } = await setUp(t)
    await kafka.produce(from, orders(6))
    const { failure: _none, ...rest } = contract().declared
    let calls = 0
    const map: TransformContract<Order>['map'] = ({ message, envelope }) => {
      if (message.n === 3) calls++
      if (message.n === 3) throw new Error('three')
      return [copy(to, message, envelope.position!)]
    }
    const bare = defineTransform({ ...rest, failure: { delayMs: 1, attemptsMax: 2, breaker: false }, map })
    const running = await runTransform(bare, { kafkaBootstrap: kafka.bootstrap })
    await assert.rejects(running.finished, (error: OncewardError) => {
      assert.equal(error.code, 'consumer_halted')
      assert.match(error.message, /orders halted at .*\/0@3 after 2 attempts/)
      assert.match(error.message, /no dead-letter topic/)
      return true
    })
    assert.equal(calls, 2)
    assert.deepEqual(running.health().reasons, ['halted'])
    assert.deepEqual(await valuesOf(kafka, to), [0, 1, 2])
    assert.deepEqual([...(await kafka.committed(group, from))], [[0, 3]])
    await open()
    await written(kafka, to, 6)
    assert.deepEqual(await valuesOf(kafka, to), [0, 1, 2, 3, 4, 5])
  })

  test('follows verdicts, time limits and the topics of its contract', async t => {
    const { kafka, from, to, dead, open, orders } = await setUp(t)
    await kafka.produce(from, orders(7))
    let again = 0
    const running = await open({
      batch: { handlerTimeoutMs: 50 },
      failure: { attemptsMax: 2, breaker: false },
      map: async ({ message, envelope }) => {
        if (message.n === 1) return ignore('not needed')
        if (message.n === 2) return quarantine('odd')
        if (message.n === 3 && again++ === 0) return retryAfter(5)
        if (message.n === 4) return [{ topic: 'elsewhere', value: 'x' }]
        if (message.n === 5) return new Promise(() => {})
        return [copy(to, message, envelope.position!)]
      },
    })
    await written(kafka, to, 3)
    await written(kafka, dead, 3)
    assert.deepEqual(await valuesOf(kafka, to), [0, 3, 6])
    assert.deepEqual(
      (await kafka.read(dead)).map(({ headers }) => [headers['onceward-state'], headers['onceward-code']]),
      [
        ['quarantined', 'quarantine'],
        ['dead', 'usage'],
        ['dead', 'handler_timeout'],
      ],
    )
    await until('all is counted', () => running.tally.outcomes['dead-lettered'] === 2)
    const { retry: _retries, ...outcomes } = running.tally.outcomes
    assert.deepEqual(outcomes, { applied: 3, ignored: 1, quarantined: 1, 'dead-lettered': 2 })
  })

  test('sets a record aside whose output the topic refuses, and writes those around it', async t => {
    const { kafka, from, to, dead, open, orders } = await setUp(t)
    await kafka.alterTopic(to, { 'max.message.bytes': '2000' })
    await kafka.produce(from, orders(6))
    await open({
      map: ({ message, envelope }) => [
        message.n === 3
          ? { topic: to, value: Buffer.alloc(5_000, 'x') }
          : copy(to, message, envelope.position!),
      ],
    })
    await written(kafka, to, 5)
    await written(kafka, dead, 1)
    assert.deepEqual(await valuesOf(kafka, to), [0, 1, 2, 4, 5])
    const [letter] = await kafka.read(dead)
    assert.deepEqual([letter!.value, letter!.headers['onceward-code']], ['{"n":3}', 'publish_refused'])
  })

  test('omits the body of a record that does not fit the dead-letter topic', async t => {
    const { kafka, from, to, dead, open, orders } = await setUp(t)
    await kafka.alterTopic(dead, { 'max.message.bytes': '6000' })
    await kafka.produce(from, [{ value: `no json ${'x'.repeat(20_000)}`, key: 'k' }, ...orders(1)])
    await open()
    await written(kafka, dead, 1)
    await written(kafka, to, 1)
    const [letter] = await kafka.read(dead)
    assert.deepEqual([letter!.value, letter!.key], ['', 'k'])
    assert.match(letter!.headers['onceward-body']!, /too large to copy; the record is at onceward-position/)
    assert.equal(letter!.headers['onceward-position'], `${from}/0@0`)
  })

  test('keeps retrying where exhausted records stop, and yields to heartbeats', async t => {
    const { kafka, from, to, dead, open, orders } = await setUp(t)
    await kafka.produce(from, orders(3))
    let calls = 0
    let heals = false
    const running = await open({
      failure: { exhausted: 'stop', delayMs: 0, attemptsMax: 2, breaker: false },
      map: ({ message, envelope }) => {
        if (message.n === 1 && !heals) {
          calls++
          throw new Error('not yet')
        }
        return [copy(to, message, envelope.position!)]
      },
    })
    await until('it was tried often', () => calls > 50)
    assert.equal(running.health().ready, true)
    assert.deepEqual([await valuesOf(kafka, to), await kafka.read(dead)], [[0], []])
    heals = true
    await written(kafka, to, 3)
    assert.deepEqual(await valuesOf(kafka, to), [0, 1, 2])
  })

  test('leaves at once when a function hangs and the time to drain is over', async t => {
    const { kafka, from, to, group, open, orders } = await setUp(t)
    await kafka.produce(from, orders(2))
    let called = false
    const running = await open({
      batch: { handlerTimeoutMs: 600_000 },
      map: () => {
        called = true
        return new Promise(() => {})
      },
    })
    await until('it hangs', () => called)
    await running.drain(50)
    assert.deepEqual([...(await kafka.committed(group, from))], [[0, 0]])
    await open()
    await written(kafka, to, 2)
  })

  test('continues the trace of a record in its outputs', async t => {
    const { kafka, from, to, open } = await setUp(t)
    const { traceparent, traceId } = producerContext(77)
    await kafka.produce(from, [{ value: '{"n":1}', headers: { traceparent } }])
    await open()
    await written(kafka, to, 1)
    const [output] = await kafka.read(to)
    assert.match(output!.headers.traceparent!, new RegExp(`^00-${traceId}-`))
    assert.notEqual(output!.headers.traceparent, traceparent)
    await until('the span has ended', () => spansNamed(`process ${from}`).length === 1)
    assert.equal(spansNamed(`process ${from}`)[0]!.spanContext().traceId, traceId)
  })

  test('does not start without its topics', async t => {
    const { kafka, contract } = await setUp(t)
    const { declared } = contract()
    const missing = defineTransform({ ...declared, to: [...declared.to, 'not.there'] })
    await assert.rejects(runTransform(missing, { kafkaBootstrap: kafka.bootstrap }), {
      code: 'configuration',
    })
  })

  test('counts as a consumer does, and reports its lag', async t => {
    const { kafka, from, to, dead, open, orders } = await setUp(t, 2)
    await kafka.produce(from, [...orders(10), { value: 'no json', partition: 0 }])
    const server = await startObserveServer({ host: '127.0.0.1', port: 0 })
    t.after(() => server.close())
    let tried = false
    const running = await open(
      {
        failure: { breaker: false },
        map: ({ message, envelope }) => {
          if (message.n === 5 && !tried) {
            tried = true
            throw new Error('once')
          }
          return [copy(to, message, envelope.position!)]
        },
      },
      realEnvironment({ meter: server.meter }),
    )
    await written(kafka, to, 10)
    await written(kafka, dead, 1)
    const page = async () => (await fetch(`${server.url}/metrics`)).text()
    const value = (text: string, name: string, ...labels: string[]) => {
      const line = text
        .split('\n')
        .find(one => one.startsWith(`${name}{`) && labels.every(label => one.includes(label)))
      return line === undefined ? null : Number(line.split(' ')[1])
    }
    await until('the partitions are behind by nothing', async () => {
      const text = await page()
      const lag = ['0', '1'].map(n =>
        value(text, 'onceward_consumer_lag_messages', `partition="${from}/${n}"`),
      )
      return lag.every(one => one === 0)
    })
    await until('all is counted', () => running.tally.outcomes.applied === 10)
    const text = await page()
    const labels = 'consumer="orders"'
    assert.equal(value(text, 'messaging_client_consumed_messages_total', labels), 11)
    assert.equal(value(text, 'onceward_consumer_outcomes_total', labels, 'outcome="applied"'), 10)
    assert.equal(value(text, 'onceward_consumer_applied_messages_total', labels), 10)
    assert.equal(value(text, 'onceward_consumer_retries_total', labels, 'class="unclassified"'), 1)
    assert.equal(
      value(text, 'onceward_consumer_set_aside_messages_total', labels, 'outcome="quarantined"'),
      1,
    )
    assert.equal(value(text, 'onceward_consumer_unreadable_messages_total', labels), 1)
    assert.equal(value(text, 'messaging_client_sent_messages_total', 'broker="kafka"'), 11)
    assert.ok(value(text, 'onceward_consumer_offset_commits_total', labels, 'status="success"')! >= 2)
    assert.ok(value(text, 'messaging_process_duration_seconds_count', labels)! >= 2)
    assert.equal(value(text, 'onceward_consumer_up', labels), 1)
    assert.equal(value(text, 'onceward_consumer_paused', labels), null)
    await running.drain()
    assert.deepEqual([running.health().ready, running.health().reasons], [false, ['stopped']])
  })
})
