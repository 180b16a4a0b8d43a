import type { TestContext } from 'node:test'
import { defineConsumer, park, projection } from 'onceward'
import { topic } from 'onceward/kafka'
import { type createPool, postgresQueue, publish } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { until } from 'onceward/testing'
import { openKafka } from '../kafka/fixture.ts'
import { startTcpProxy } from '../proxy/tcp-proxy.ts'
import { createTestQueue } from '../rabbitmq/broker.ts'
import type { Scraped } from '../telemetry/scraped.ts'
import type { StagedSeries } from './staged-series.ts'

type Pool = ReturnType<typeof createPool>

/** Series that are above zero once the trouble was caused. */
export const troubleSeen: readonly StagedSeries[] = [
  ['onceward_consumer_pauses_total', { consumer: 'pauses' }],
  ['onceward_consumer_braked', { consumer: 'brakes', type: 'OrderPlaced' }],
  ['onceward_consumer_brakes_total', { consumer: 'brakes' }],
  ['onceward_consumer_repeated_deliveries_total', { consumer: 'acknowledges' }],
  ['onceward_consumer_ack_failures_total', { consumer: 'acknowledges' }],
  ['onceward_consumer_redelivered_messages_total', { consumer: 'acknowledges' }],
  ['onceward_consumer_duplicates_total', { consumer: 'acknowledges' }],
  ['onceward_consumer_offset_commits_total', { consumer: 'commits', status: 'success' }],
  ['onceward_consumer_commit_failures_total', { consumer: 'ends' }],
  ['onceward_work_expired_leases_total', { consumer: 'leases' }],
  ['onceward_work_lost_leases_total', { consumer: 'leases' }],
  ['onceward_retention_behind_horizon_messages_total', { consumer: 'forgets' }],
  ['onceward_parking_delayed_batches_total', { consumer: 'fills' }],
  ['onceward_effect_results_total', { consumer: 'skips', code: 'gap' }],
  ['onceward_consumer_dead_letters_total', { consumer: 'rejects', class: 'poison' }],
  ['onceward_outbox_publish_failures_total', { broker: 'rabbitmq' }],
  ['onceward_consumer_paused', { consumer: 'pauses' }],
  ['onceward_consumer_source_events_total', { consumer: 'acknowledges', kind: 'disconnected' }],
  ['onceward_retention_horizon_age_seconds', { consumer: 'forgets' }],
  ['onceward_retention_keep_seconds', { consumer: 'forgets' }],
  ['onceward_parking_used_ratio', { consumer: 'fills' }],
  ['onceward_effect_skips_total', { consumer: 'acknowledges' }],
  ['onceward_outbox_failing_keys', { broker: 'rabbitmq' }],
  ['onceward_outbox_blocked_messages', { broker: 'rabbitmq' }],
  ['onceward_outbox_messages', { broker: 'rabbitmq' }],
  ['onceward_outbox_oldest_age_seconds', { broker: 'rabbitmq' }],
]

/** Consumers to which everything happens that must not happen in a healthy run, on real servers. */
export interface Trouble {
  readonly queues: readonly string[]
  readonly tables: string
  readonly consumers: readonly unknown[]
  readonly addresses: { readonly rabbitmqUrl: string; readonly kafkaBootstrap: string }
  /** Publishes the messages, once the consumers run. */
  cause(): Promise<void>
  /** Series that must be above zero then. */
  readonly seen: readonly StagedSeries[]
}

const common = { owner: 'shop', risk: 'money', identity: { id: { property: 'messageId' } } } as const
const message = (messageId: string, body: object, timestampMs?: number) => ({
  messageId,
  body: JSON.stringify(body),
  properties: { messageId, ...(timestampMs !== undefined && { timestampMs }) },
})

export async function openTrouble(
  t: TestContext,
  pool: Pool,
  scraped: () => Promise<Scraped>,
): Promise<Trouble> {
  const parcels = await createTestQueue(t)
  const { hostname, port, username, password } = new URL(parcels.url)
  const proxy = await startTcpProxy({ host: hostname, port: Number(port) })
  t.after(() => proxy.close())
  const kafka = await openKafka(t)
  const captures = await kafka.createTopic()

  /** Its connection is cut after the effect and before the acknowledgement. */
  let cut = false
  const acknowledges = defineConsumer({
    ...common,
    name: 'acknowledges',
    source: queue(parcels.name, { url: `amqp://${username}:${password}@127.0.0.1:${proxy.port}` }),
    failure: { redelivery: { countMax: 1 } },
    async handle() {
      if (cut) return
      cut = true
      proxy.cut()
      const lost = { consumer: 'acknowledges', kind: 'disconnected' }
      await until(
        'the lost connection is noticed',
        async () => (await scraped()).sum('onceward_consumer_source_events_total', lost) > 0,
      )
    },
  })
  const commits = defineConsumer({
    ...common,
    name: 'commits',
    identity: { id: 'position' },
    source: topic(captures, { start: 'earliest', bootstrap: kafka.bootstrap }),
    handle: () => {},
  })
  /** The server ends its session in the middle of its first transaction. */
  let ended = false
  const ends = defineConsumer({
    ...common,
    name: 'ends',
    source: postgresQueue('ends'),
    async handle({ tx }) {
      if (ended) return
      ended = true
      await tx.query('select pg_terminate_backend(pg_backend_pid())')
    },
  })
  /** Another worker takes its lease, and dies: the lease expires. */
  let stalled = false
  const leases = defineConsumer({
    ...common,
    name: 'leases',
    source: postgresQueue('leases'),
    inbox: { mode: 'stored', leaseMs: 5_000 },
    async handle({ signal }) {
      if (stalled) return
      stalled = true
      await pool.query(`update onceward.held h set epoch = epoch + 1, lease_until = clock_timestamp() + interval '8 seconds'
        from onceward.consumer c where c.id = h.consumer_id and c.name = 'leases'`)
      await new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
    },
  })
  const forgets = defineConsumer({
    ...common,
    name: 'forgets',
    source: postgresQueue('forgets'),
    retention: { markers: '7d', sourceKeeps: '1d', behindHorizon: 'park' },
    handle: () => {},
  })
  const fills = defineConsumer({
    ...common,
    name: 'fills',
    source: postgresQueue('fills'),
    failure: { parking: { totalMax: 1 }, delayMs: 10, delayMaxMs: 10 },
    objectives: { setAsideMax: 10, setAsideAgeMax: '1s' },
    handle: () => park('a person decides'),
  })
  const skips = defineConsumer<{ id: string; version: number }>({
    ...common,
    name: 'skips',
    source: postgresQueue('skips'),
    effect: {
      apply: projection({
        table: 'live_view',
        key: { id: 'id' },
        version: { version: 'version' },
        columns: { name: 'name' },
        gap: 'accept latest',
      }),
    },
  })
  const rejects = defineConsumer({
    ...common,
    name: 'rejects',
    source: postgresQueue('rejects'),
    failure: { deadLetter: { to: 'letters', owner: 'desk' } },
    handle: () => {},
  })
  const publishes = defineConsumer({
    ...common,
    name: 'publishes',
    source: postgresQueue('publishes'),
    effect: { publish: { gone: { broker: 'rabbitmq', queue: `${parcels.name}.gone` } } },
    handle({ effects }) {
      for (const body of [1, 2]) effects.publish('gone', { key: 'k', body })
    },
  })

  const pauses = defineConsumer({
    ...common,
    name: 'pauses',
    source: postgresQueue('pauses'),
    objectives: { lagMax: '1s' },
    failure: { breaker: { failuresMax: 2, pauseMs: 50, pauseMaxMs: 100 } },
    handle() {
      throw Object.assign(new Error('connect'), { code: 'ECONNREFUSED' })
    },
  })
  /** One deployment breaks all messages of a type. */
  const brakes = defineConsumer<{ type: string }>({
    ...common,
    name: 'brakes',
    source: postgresQueue('brakes'),
    identity: { id: { property: 'messageId' }, type: m => m.type },
    failure: { attemptsMax: 1, brake: { pauseMs: 100, pauseMaxMs: 200 } },
    handle() {
      throw new Error('the new version is wrong')
    },
  })

  return {
    queues: [
      'pauses',
      'brakes',
      'ends',
      'leases',
      'forgets',
      'fills',
      'skips',
      'rejects',
      'letters',
      'publishes',
    ],
    tables: 'create table live_view (id text primary key, version bigint not null, name text)',
    consumers: [
      ...[acknowledges, commits, ends, leases, forgets, fills],
      ...[skips, rejects, publishes, pauses, brakes],
    ],
    addresses: { rabbitmqUrl: parcels.url, kafkaBootstrap: kafka.bootstrap },
    async cause() {
      await until('the contracts are enrolled', async () => {
        const { rows } = await pool.query(
          `insert into onceward.horizon (consumer_id, purged_before, purged_count)
           select id, now() - interval '2 days', 1 from onceward.consumer where name = 'forgets'
           on conflict do nothing returning 1`,
        )
        return rows.length === 1
      })
      parcels.channel.sendToQueue(parcels.name, Buffer.from('{}'), { messageId: 'parcel', persistent: true })
      await kafka.produce(captures, ['{}', '{}'])
      await publish(pool, 'pauses', [message('a', {}), message('b', {})])
      await publish(pool, 'ends', [message('a', {})])
      await publish(pool, 'leases', [message('a', {})])
      await publish(pool, 'forgets', [message('a', {}, Date.now() - 30 * 86_400_000)])
      await publish(pool, 'fills', [message('first', {})])
      await until('the parking lot is full', async () => {
        const { rows } = await pool.query(
          `select 1 from onceward.held h join onceward.consumer c on c.id = h.consumer_id
           where c.name = 'fills' and h.state = 'parked'`,
        )
        return rows.length === 1
      })
      await publish(
        pool,
        'fills',
        ['a', 'b', 'c'].map(id => message(id, {})),
      )
      await publish(pool, 'skips', [
        message('a', { id: 'k', version: 1 }),
        message('b', { id: 'k', version: 5 }),
      ])
      await publish(pool, 'rejects', [{ ...message('a', {}), body: 'no JSON' }])
      await publish(pool, 'publishes', [message('a', {})])
      const broken = Array.from({ length: 60 }, (_, n) => message(`b${n}`, { type: 'OrderPlaced' }))
      await publish(pool, 'brakes', broken)
    },
    seen: troubleSeen,
  }
}
