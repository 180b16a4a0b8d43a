import type { TestContext } from 'node:test'
import { type Consumer, defineConsumer, type Environment, runConsumer } from 'onceward'
import { topic } from 'onceward/kafka'
import { type createPool, createQueue, postgresQueue, publish } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { until } from 'onceward/testing'
import type { AlertName } from '../../src/telemetry/alerts/alerts.ts'
import { openKafka } from '../kafka/fixture.ts'
import { createTestQueue } from '../rabbitmq/broker.ts'

/** Alerts about messages that nobody reads, applies or publishes. */
export const backlogAlerts = [
  'OncewardStalled',
  'OncewardLagRising',
  'OncewardReadingTooSlow',
  'OncewardProcessingTooSlow',
  'OncewardWorkUnserved',
  'OncewardPartitionsWaiting',
  'OncewardPartitionStuck',
  'OncewardOutboxUnserved',
  'OncewardLoss',
] as const satisfies readonly AlertName[]

type Parts = Parameters<typeof runConsumer>[1]['parts']
type Series = readonly [name: string, labels: Readonly<Record<string, string>>, least: number]

const common = { owner: 'shop', risk: 'money', identity: { id: 'position' } } as const
const objectives = { lagRecordsMax: 2, lagMax: '1s' } as const
const bodies = (count: number) => Array.from({ length: count }, () => '{}')

export const backlogSeen: readonly Series[] = [
  ['onceward_consumer_stalled_seconds', { consumer: 'stalls' }, 31],
  ['onceward_consumer_lag_messages', { consumer: 'lags' }, 20],
  ['onceward_consumer_lag_messages', { consumer: 'reads_slow' }, 20],
  ['onceward_work_messages', { consumer: 'works_slow', state: 'stored' }, 4],
  ['onceward_consumer_effect_lag_seconds', { consumer: 'lags' }, 1],
  ['onceward_work_unserved_messages', {}, 1],
  ['onceward_consumer_waiting_partitions', { consumer: 'grows' }, 1],
  ['onceward_consumer_checkpoint_age_seconds', { consumer: 'lags' }, 2],
  ['onceward_outbox_unserved_messages', { broker: 'rabbitmq' }, 1],
  ['onceward_consumer_open_losses', { consumer: 'loses' }, 1],
]

/** Consumers whose messages wait on real servers, each for another reason. */
export async function openBacklog(
  t: TestContext,
  pool: ReturnType<typeof createPool>,
  options: { readonly databaseUrl: string; readonly env: Environment; readonly gaugesMaxAgeMs: number },
) {
  const kafka = await openKafka(t)
  const shared = await createTestQueue(t)
  const addresses = { ...options, rabbitmqUrl: shared.url, kafkaBootstrap: kafka.bootstrap }
  const { promise: never, resolve: open } = Promise.withResolvers<void>()
  const from = (name: string) => topic(name, { start: 'earliest', group: name })
  const [stuck, unread, grown, lost] = [
    await kafka.createTopic({ partitions: 1 }),
    await kafka.createTopic({ partitions: 1 }),
    await kafka.createTopic({ partitions: 1 }),
    await kafka.createTopic({ partitions: 1 }),
  ]
  let first = true
  const lags = defineConsumer({
    ...common,
    ...{ name: 'lags', source: from(stuck), objectives },
    batch: { handlerTimeoutMs: 600_000 },
    async handle() {
      if (!first) await never
      first = false
    },
  })
  /** Its schema waits for a registry that does not answer: nothing is stored. */
  const readsSlow = defineConsumer({
    ...common,
    ...{ name: 'reads_slow', source: from(unread), objectives, inbox: { mode: 'stored' } },
    message: {
      schema: {
        '~standard': { version: 1, vendor: 'tests', validate: () => never.then(() => ({ value: {} })) },
      },
    },
    batch: { handlerTimeoutMs: 600_000 },
    handle: () => {},
  })
  const worksSlow = defineConsumer({
    ...common,
    ...{ name: 'works_slow', source: postgresQueue('works_slow'), objectives, inbox: { mode: 'stored' } },
    identity: { id: { property: 'messageId' } },
    batch: { handlerTimeoutMs: 600_000 },
    handle: () => never,
  })
  const left = defineConsumer({
    ...common,
    ...{ name: 'left', source: postgresQueue('left'), inbox: { mode: 'stored' } },
    identity: { id: { property: 'messageId' } },
    handle: () => {},
  })
  const grows = defineConsumer({
    ...common,
    ...{ name: 'grows', source: from(grown), order: 'key', batch: { handlerTimeoutMs: 600_000 } },
    identity: { id: 'position', orderKey: () => 'k' },
    handle: () => never,
  })
  const publishes = defineConsumer({
    ...common,
    ...{ name: 'publishes', source: postgresQueue('publishes') },
    identity: { id: { property: 'messageId' } },
    effect: { publish: { out: { broker: 'rabbitmq', queue: shared.name } } },
    handle: ({ effects }) => effects.publish('out', { body: {} }),
  })
  const loses = defineConsumer({ ...common, name: 'loses', source: from(lost), handle: () => {} })
  const stalls = defineConsumer({
    ...common,
    ...{
      name: 'stalls',
      source: queue(shared.name, { declare: 'verify' }),
      identity: { id: { property: 'messageId' } },
    },
    handle: () => {},
  })
  const consumers = [
    lags,
    readsSlow,
    worksSlow,
    left,
    grows,
    publishes,
    loses,
    stalls,
  ] as unknown as Consumer[]
  const run = (consumer: unknown, parts?: Parts) =>
    runConsumer(consumer as Consumer, { ...addresses, ...(parts && { parts }) })
  const count = async (sql: string) => (await pool.query(`select count(*)::int as n from ${sql}`)).rows[0].n

  return {
    consumers,
    /** Everything runs, and nothing waits yet. */
    async begin() {
      for (const name of ['works_slow', 'left', 'publishes']) await createQueue(pool, name)
      // Another program is the only active consumer of the queue, and holds one message for ever.
      await shared.channel.assertQueue(shared.name, {
        durable: true,
        arguments: { 'x-queue-type': 'quorum', 'x-single-active-consumer': true },
      })
      await shared.channel.prefetch(1)
      await shared.channel.consume(shared.name, () => {})
      const running = [
        ...(await Promise.all([lags, readsSlow, worksSlow, grows, stalls].map(one => run(one)))),
        await run(publishes, ['consumer']),
      ]
      t.after(() => {
        open()
        return Promise.all(running.map(one => one.drain(5_000).catch(() => {})))
      })
      await kafka.produce(stuck, ['{}'])
    },
    async cause() {
      await shared.send(...bodies(3))
      await kafka.produce(stuck, bodies(20))
      await kafka.produce(unread, bodies(20))
      await publish(
        pool,
        'works_slow',
        ['a', 'b', 'c', 'd'].map(messageId => ({ messageId, body: '{}', properties: { messageId } })),
      )
      await publish(pool, 'publishes', [{ messageId: 'a', body: '{}', properties: { messageId: 'a' } }])
      await kafka.produce(grown, [{ value: '{}', key: 'k', partition: 0 }])
      await kafka.addPartitions(grown, 2)
      const reader = await run(left, ['consumer'])
      await publish(pool, 'left', [{ messageId: 'a', body: '{}', properties: { messageId: 'a' } }])
      const stored = `onceward.held h join onceward.consumer c on c.id = h.consumer_id where c.name = 'left'`
      await until('it is stored', async () => (await count(stored)) === 1)
      await reader.drain()
      await kafka.produce(lost, bodies(5))
      const reads = await run(loses)
      await until('they are applied', async () => (await kafka.committed(lost, lost)).get(0) === 5)
      await reads.drain()
      await kafka.produce(lost, bodies(10))
      await kafka.deleteRecords(lost, 0, 12)
      const halted = await run(loses)
      halted.finished.catch(() => {})
      t.after(() => halted.drain(1_000).catch(() => {}))
    },
    seen: backlogSeen,
  }
}
