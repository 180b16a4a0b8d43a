import type { TestContext } from 'node:test'
import {
  type Consumer,
  defineConsumer,
  defineTransform,
  type Environment,
  type Running,
  runConsumer,
  runTransform,
} from 'onceward'
import { topic } from 'onceward/kafka'
import { type createPool, createQueue, postgresQueue, publish } from 'onceward/postgres'
import { until } from 'onceward/testing'
import { openKafka } from '../kafka/fixture.ts'
import type { StagedSeries } from './staged-series.ts'

export const upkeepSeen: readonly StagedSeries[] = [
  ['onceward_retention_removed_rows', { consumer: 'removes', kind: 'markers' }],
  ['onceward_retention_overdue_seconds', { consumer: 'removes' }],
  ['onceward_work_oldest_age_seconds', { consumer: 'orphans' }],
  ['onceward_consumer_offset_commits_total', { consumer: 'converts', status: 'failure' }],
  ['onceward_work_stuck_messages', { consumer: 'orphans' }],
]

const common = { owner: 'shop', risk: 'projection', identity: { id: { property: 'messageId' } } } as const
const arrival = [{ messageId: 'a', body: '{}', properties: { messageId: 'a' } }]

/** A transform whose transaction, with the offset of its record, is refused by the broker. */
async function stageRefusal(t: TestContext, env: Environment) {
  const kafka = await openKafka(t)
  const [from, to, dead] = [await kafka.createTopic(), await kafka.createTopic(), await kafka.createTopic()]
  await kafka.alterTopic(to, { 'max.message.bytes': '2000' })
  const converts = defineTransform({
    name: 'converts',
    owner: 'shop',
    risk: 'low value',
    source: topic(from, { start: 'earliest' }),
    failure: { deadLetter: dead },
    to: [to],
    map: () => [{ topic: to, value: Buffer.alloc(5_000, 'x') }],
  })
  const running = await runTransform(converts, { kafkaBootstrap: kafka.bootstrap, env })
  // Of several records: one alone is set aside at once.
  await kafka.produce(from, ['{}', '{}', '{}'])
  return running
}

/** Retention that ran and stopped running, and a message whose worker is gone. */
export async function stageUpkeep(
  t: TestContext,
  pool: ReturnType<typeof createPool>,
  options: { readonly databaseUrl: string; readonly env: Environment },
) {
  const removes = defineConsumer({
    ...common,
    name: 'removes',
    source: postgresQueue('removes'),
    retention: { markers: '7d' },
    handle: () => {},
  }) as Consumer
  const orphans = defineConsumer({
    ...common,
    name: 'orphans',
    source: postgresQueue('orphans'),
    inbox: { mode: 'stored' },
    handle: () => {},
  }) as Consumer
  const rows = async (sql: string) => (await pool.query(sql)).rows
  for (const name of ['removes', 'orphans']) await createQueue(pool, name)

  const first = await runConsumer(removes, { ...options, retentionFirstMs: 50, retentionEveryMs: 200 })
  await publish(pool, 'removes', arrival)
  const ofIt = `consumer_id = (select id from onceward.consumer where name = 'removes')`
  await until('its marker is old', async () => {
    const old = `update onceward.inbox set at = now() - interval '8 days' where ${ofIt} returning 1`
    return (await rows(old)).length > 0
  })
  await until('a pass removed it', async () => {
    const removed = await rows(`select 1 from onceward.retention where ${ofIt} and purged_count > 0`)
    return removed.length > 0
  })
  await first.drain()

  const alone = { ...options, parts: ['consumer'] as const, gaugesMaxAgeMs: 3_000 }
  const running: Pick<Running, 'drain'>[] = [
    await runConsumer(removes, alone),
    await runConsumer(orphans, alone),
  ]
  await publish(pool, 'orphans', arrival)
  await until('a lease on its message has expired', async () => {
    const lost = `update onceward.held h set epoch = epoch + 1, lease_until = clock_timestamp() - interval '1 second'
      from onceward.consumer c where c.id = h.consumer_id and c.name = 'orphans' returning 1`
    return (await rows(lost)).length > 0
  })
  running.push(await stageRefusal(t, options.env))
  return {
    seen: upkeepSeen,
    close: () => Promise.all(running.map(one => one.drain(5_000))),
  }
}
