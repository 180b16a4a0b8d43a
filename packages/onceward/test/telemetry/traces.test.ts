import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { trace } from '@opentelemetry/api'
import type { ConfirmChannel } from 'amqplib'
import { topic } from 'onceward/kafka'
import { publishInTransaction } from 'onceward/outbox'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { stream } from 'onceward/rabbitmq-stream'
import { until } from 'onceward/testing'
import { type ConsumerContract, defineConsumer, runConsumer } from '../../src/index.ts'
import { Gateway } from '../effects/gateway.ts'
import { openKafka } from '../kafka/fixture.ts'
import { createTestQueue } from '../rabbitmq/broker.ts'
import {
  createDatabase,
  kafkaBootstrap,
  rabbitmqStreamUrl,
  rabbitmqUrl,
  skipWithout,
} from '../services/services.ts'
import { exporter, idOf, producerContext, registerTracing, spansNamed } from './tracing.ts'

registerTracing()

type Message = { id: string; does?: string }

describe('traces', await skipWithout('postgres', 'rabbitmq', 'kafka'), () => {
  let database: Awaited<ReturnType<typeof createDatabase>>
  let pool: ReturnType<typeof createPool>
  const gateway = new Gateway()

  before(async () => {
    database = await createDatabase()
    pool = createPool(database.url, { max: 2 })
    await migrate(pool)
    await gateway.open()
  })
  after(async () => {
    gateway.close()
    await pool.end()
    await database.drop()
  })

  const run = async (
    t: TestContext,
    contract: Omit<ConsumerContract<Message>, 'owner' | 'risk' | 'identity'>,
  ) => {
    const running = await runConsumer(
      defineConsumer<Message>({
        owner: 'tests',
        risk: 'projection',
        identity: { id: m => m.id },
        ...contract,
      }),
      {
        databaseUrl: database.url,
        rabbitmqUrl: await rabbitmqUrl(),
        rabbitmqStreamUrl: await rabbitmqStreamUrl(),
        kafkaBootstrap: await kafkaBootstrap(),
      },
    )
    t.after(() => running.drain())
    return running
  }
  const spans = async (name: string, count = 1) => {
    await until(`${count} spans ${name}`, () => spansNamed(name).length >= count)
    return spansNamed(name)
  }
  const nothing = async () => {}

  test('a batch is one span with a link to every producer; hostile headers are ignored', async t => {
    await createQueue(pool, 'traced_batch')
    const contexts = [1, 2, 3].map(producerContext)
    const hostile = ['00-zz', 'x'.repeat(3_000), { deep: [1] }, `00-${'0'.repeat(32)}-1-01`, null]
    await publish(pool, 'traced_batch', [
      ...contexts.map(({ traceparent }, n) => ({ body: { id: `b${n}` }, headers: { traceparent } })),
      ...hostile.map((traceparent, n) => ({ body: { id: `h${n}` }, headers: { traceparent } })),
    ])
    await run(t, { name: 'traced_batch', source: postgresQueue('traced_batch'), handle: nothing })
    const [span] = await spans('process traced_batch')
    assert.deepEqual(
      span!.links.map(link => idOf(link.context)),
      contexts.map(idOf as never),
    )
    assert.equal(span!.attributes['messaging.batch.message_count'], 8)
    assert.equal(span!.attributes['messaging.system'], 'postgresql')
    assert.equal(span!.attributes['messaging.consumer.group.name'], 'traced_batch')
    assert.equal(span!.attributes['onceward.outcome.applied'], 8)
    assert.equal(span!.parentSpanContext, undefined)
  })

  test('one message continues its trace: handler, outbox, relay, RabbitMQ, next consumer', async t => {
    await createQueue(pool, 'traced_in')
    const out = await createTestQueue(t)
    await run(t, { name: 'traced_next', source: queue(out.name), handle: nothing })
    const from = producerContext(50)
    let inside: string | undefined
    await run(t, {
      name: 'traced_in',
      source: postgresQueue('traced_in'),
      effect: {
        publish: { out: { broker: 'rabbitmq', queue: out.name } },
        external: { gateway: { url: gateway.url, allowPrivate: true } },
      },
      async handle({ message, effects }) {
        inside = trace.getActiveSpan()?.spanContext().traceId
        effects.publish('out', { body: message })
        effects.external('gateway', { key: message.id, body: message })
      },
    })
    await publish(pool, 'traced_in', [{ body: { id: 'one' }, headers: { traceparent: from.traceparent } }])
    const [processed] = await spans('process traced_in')
    assert.equal(processed!.spanContext().traceId, from.traceId)
    assert.equal(processed!.parentSpanContext?.spanId, from.spanId)
    assert.equal(inside, from.traceId, 'what a handler traces belongs to it')
    const [created] = await spans('create out')
    assert.equal(created!.parentSpanContext?.spanId, processed!.spanContext().spanId)
    const [sent] = await spans('send rabbitmq')
    assert.equal(sent!.parentSpanContext?.spanId, created!.spanContext().spanId)
    assert.equal(sent!.attributes['onceward.confirmed'], 1)
    const [next] = await spans(`process ${out.name}`)
    assert.equal(next!.spanContext().traceId, from.traceId)
    assert.equal(next!.parentSpanContext?.spanId, created!.spanContext().spanId)
    const [called] = await spans('call gateway')
    assert.deepEqual(called!.attributes, {
      'onceward.consumer': 'traced_in',
      'onceward.target': 'gateway',
      'onceward.answer': 'answered',
      'http.response.status_code': 200,
    })
  })

  test('in a batch of many, the effects of each message stay in the trace of its producer', async t => {
    await createQueue(pool, 'traced_many')
    await createQueue(pool, 'traced_many_out')
    const contexts = [70, 71].map(producerContext)
    await publish(
      pool,
      'traced_many',
      contexts.map(({ traceparent }, n) => ({ body: { id: `m${n}` }, headers: { traceparent } })),
    )
    await run(t, {
      name: 'traced_many',
      source: postgresQueue('traced_many'),
      effect: { publish: { many: { broker: 'postgres', queue: 'traced_many_out' } } },
      handleBatch: async ({ batch }) => {
        for (const { message, effects } of batch) effects.publish('many', { body: message })
      },
    })
    const created = await spans('create many', 2)
    const [batch] = await spans('process traced_many')
    for (const [n, span] of created.entries()) {
      assert.equal(span.spanContext().traceId, contexts[n]!.traceId)
      assert.equal(span.parentSpanContext?.spanId, contexts[n]!.spanId)
      assert.deepEqual(
        span.links.map(link => idOf(link.context)),
        [idOf(batch!.spanContext())],
      )
    }
    await until('they are in the queue', async () => {
      const { rows } = await pool.query(
        "select headers ->> 'traceparent' as parent from onceward.queue_message m join onceward.queue q on q.id = queue_id where name = 'traced_many_out' order by m.id",
      )
      return (
        rows.length === 2 &&
        rows.every((row, n) =>
          row.parent.startsWith(`00-${contexts[n]!.traceId}-${created[n]!.spanContext().spanId}`),
        )
      )
    })
  })

  test('Kafka headers are bytes, and a stream has them as properties', async t => {
    const kafka = await openKafka(t)
    const name = await kafka.createTopic({ partitions: 1 })
    const [onKafka, onStream] = [producerContext(90), producerContext(91)]
    await kafka.produce(name, [
      { value: JSON.stringify({ id: 'k' }), headers: { traceparent: onKafka.traceparent } },
    ])
    await run(t, { name: 'traced_kafka', source: topic(name, { start: 'earliest' }), handle: nothing })
    const streamed = await createTestQueue(t)
    await streamed.channel.assertQueue(streamed.name, {
      durable: true,
      arguments: { 'x-queue-type': 'stream' },
    })
    streamed.channel.sendToQueue(streamed.name, Buffer.from(JSON.stringify({ id: 's' })), {
      headers: { traceparent: onStream.traceparent },
    })
    await (streamed.channel as ConfirmChannel).waitForConfirms()
    await run(t, {
      name: 'traced_stream',
      source: stream(streamed.name, { start: 'first' }),
      handle: nothing,
    })
    const [kafkaSpan] = await spans(`process ${name}`)
    assert.equal(kafkaSpan!.parentSpanContext?.spanId, onKafka.spanId)
    assert.equal(kafkaSpan!.attributes['messaging.system'], 'kafka')
    const [streamSpan] = await spans(`process ${streamed.name}`)
    assert.equal(streamSpan!.parentSpanContext?.spanId, onStream.spanId)
  })

  test('a producer without a consumer propagates its trace, unless it names another', async () => {
    await createQueue(pool, 'traced_produced')
    const target = { broker: 'postgres', queue: 'traced_produced' } as const
    await trace.getTracer('test').startActiveSpan('outer', async span => {
      await publishInTransaction(pool as never, target, [
        { id: 'a', body: 1 },
        { id: 'b', body: 1, headers: { traceparent: 'mine' } },
      ])
      span.end()
    })
    const { rows } = await pool.query(
      "select headers ->> 'traceparent' as parent from onceward.outbox where queue = 'traced_produced' order by message_id",
    )
    const [outer] = spansNamed('outer')
    assert.ok(rows[0].parent.includes(outer!.spanContext().traceId))
    assert.equal(rows[1].parent, 'mine')
  })

  test('a failure is marked by its code: nothing of a message is in a span', async t => {
    await createQueue(pool, 'traced_failing')
    await publish(pool, 'traced_failing', [{ body: { id: 'f', does: 'secret-in-body' } }])
    await run(t, {
      name: 'traced_failing',
      source: postgresQueue('traced_failing'),
      failure: { attemptsMax: 1 },
      handle: async ({ message }) => {
        throw new Error(`cannot do ${message.does}`)
      },
    })
    const [span] = await spans('process traced_failing')
    assert.equal(span!.attributes['onceward.outcome.parked'], 1)
    const told = exporter
      .getFinishedSpans()
      .map(({ name, attributes, events, status }) => [name, attributes, events, status])
    assert.ok(!JSON.stringify(told).includes('secret'))
  })
})
