import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { defineConsumer, runConsumer, type SqlTransaction } from 'onceward'
import { createPool, migrate } from 'onceward/postgres'
import { stream } from 'onceward/rabbitmq-stream'
import { until } from 'onceward/testing'
import { listBrokers } from '../../src/operations/server/brokers.ts'
import { deadlineMs, nodeOf } from '../rabbitmq/cluster-scene.ts'
import type { RabbitmqCluster } from '../services/rabbitmq-cluster.ts'
import { createDatabase } from '../services/services.ts'
import { createReplicated, publish, untilLed } from './cluster-streams.ts'

/** A whole consumer, as a service runs it, that knows every node by its address. */
export async function nodeOfConsumerIsKilled(t: TestContext, cluster: RabbitmqCluster): Promise<void> {
  const name = await createReplicated(cluster)
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 3 })
  await migrate(pool, { environment: 'production' })
  await pool.query('create table got (id text not null)')
  const hosts = cluster.nodes.map(({ streamUrl }) => new URL(streamUrl).host).join()
  const running = await runConsumer(
    defineConsumer<{ id: string }, SqlTransaction>({
      name: 'reads_log',
      owner: 'tests',
      risk: 'money',
      source: stream(name, { start: 'first' }),
      identity: { id: m => m.id },
      handle: async ({ message, tx }) => {
        await tx.query('insert into got (id) values ($1)', [message.id])
      },
    }),
    {
      databaseUrl: database.url,
      rabbitmqStreamUrl: `rabbitmq-stream://guest:guest@${hosts}/%2F`,
      environment: 'production',
    },
  )
  t.after(async () => {
    await running.drain(10_000)
    await pool.end()
    await database.drop()
  })
  const got = async () => (await pool.query('select id from got order by id')).rows.map(({ id }) => id)
  await publish(cluster.nodes[0], name, [JSON.stringify({ id: '1' })])
  await until('the first is applied', async () => (await got()).length === 1, { deadlineMs })
  const node = await nodeOf(cluster.nodes, `onceward reads ${name} as reads_log`)
  await node.kill()
  const [other] = cluster.nodes.filter(one => one !== node)
  await untilLed(cluster, name, leader => leader !== node, other)
  await publish(other!, name, [JSON.stringify({ id: '2' })])
  await until('the second is applied', async () => (await got()).length === 2, { deadlineMs })
  await until('it says that all is well', () => running.health().ready, { deadlineMs })
  assert.deepEqual(await got(), ['1', '2'])
  assert.equal((await listBrokers(pool)).length, 1)
  assert.equal((await pool.query('select from onceward.loss')).rowCount, 0)
}
