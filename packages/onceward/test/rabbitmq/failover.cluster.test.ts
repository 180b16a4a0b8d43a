import { after, before, describe, test } from 'node:test'
import { defineConsumer, runConsumer, type SqlTransaction } from 'onceward'
import { createPool, migrate } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { until } from 'onceward/testing'
import { skipWithoutPrivateRabbitmq } from '../services/private-rabbitmq.ts'
import { type RabbitmqCluster, startRabbitmqCluster } from '../services/rabbitmq-cluster.ts'
import { createDatabase } from '../services/services.ts'
import { deadlineMs, hostsOf, nodeOf, onAny } from './cluster-scene.ts'

describe('three nodes of RabbitMQ 4.0', await skipWithoutPrivateRabbitmq('4.0'), () => {
  let cluster: RabbitmqCluster
  before(async () => {
    cluster = await startRabbitmqCluster()
  })
  after(() => cluster?.close())
  const address = (query = '') => `amqp://guest:guest@${hostsOf(cluster.nodes)}/%2F${query}`

  test('a consumer on a frozen node says that it is stalled, and goes on at another node', async t => {
    const database = await createDatabase()
    const pool = createPool(database.url, { max: 2 })
    await migrate(pool, { environment: 'production' })
    await pool.query('create table got (id text primary key)')
    const consumer = defineConsumer<{ id: string }, SqlTransaction>({
      name: 'thaws',
      owner: 'tests',
      risk: 'money',
      source: queue('frozen'),
      identity: { id: m => m.id },
      handle: async ({ message, tx }) => {
        await tx.query('insert into got (id) values ($1)', [message.id])
      },
    })
    const running = await runConsumer(consumer, {
      databaseUrl: database.url,
      rabbitmqUrl: address('?heartbeat=4'),
      environment: 'production',
    })
    t.after(async () => {
      await running.drain(10_000)
      await pool.end()
      await database.drop()
    })
    const node = await nodeOf(cluster.nodes, 'onceward consumes frozen')
    t.after(() => node.resume())
    node.freeze()
    await until(
      'it says so',
      () => running.health().reasons.some(one => /stalled|does not answer/.test(one)),
      {
        deadlineMs,
      },
    )
    await until('it is on another node', () => running.health().ready, { deadlineMs })
    const others = cluster.nodes.filter(one => one !== node)
    await nodeOf(others, 'onceward consumes frozen')
    await onAny(others, async channel => {
      channel.sendToQueue('frozen', Buffer.from(JSON.stringify({ id: 'after' })), { persistent: true })
      await channel.waitForConfirms()
    })
    await until('it works', async () => (await pool.query('select from got')).rowCount === 1, {
      deadlineMs,
    })
  })
})
