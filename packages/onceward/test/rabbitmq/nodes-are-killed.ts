import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { defineConsumer, type Running, runConsumer, type SqlTransaction } from 'onceward'
import { publishInTransaction, runRelay } from 'onceward/outbox'
import { createPool, migrate } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { until } from 'onceward/testing'
import { listBrokers } from '../../src/operations/server/brokers.ts'
import type { ClusterNode, RabbitmqCluster } from '../services/rabbitmq-cluster.ts'
import { createDatabase } from '../services/services.ts'
import { amqpAddress, deadlineMs, nodeOf, onAny } from './cluster-scene.ts'

/**
 * A consumer and a relay in a named environment go on at the next node when theirs is killed: all nodes are
 * one destination.
 */
export async function nodesAreKilled(t: TestContext, cluster: RabbitmqCluster): Promise<void> {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 4 })
  const parts: Pick<Running, 'drain'>[] = []
  t.after(async () => {
    await Promise.all(parts.map(part => part.drain(10_000)))
    await pool.end()
    await database.drop()
  })
  await migrate(pool, { environment: 'production' })
  await pool.query('create table got (id text primary key)')
  const consumer = defineConsumer<{ id: string }, SqlTransaction, never, 'out'>({
    name: 'follows',
    owner: 'tests',
    risk: 'money',
    source: queue('work'),
    identity: { id: m => m.id },
    effect: { publish: { out: { broker: 'rabbitmq', queue: 'out' } } },
    handle: async ({ message, tx, effects }) => {
      await tx.query('insert into got (id) values ($1)', [message.id])
      effects.publish('out', { body: message })
    },
  })
  await onAny(cluster.nodes, async channel => {
    for (const name of ['out', 'relayed'])
      await channel.assertQueue(name, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
  })
  const options = { databaseUrl: database.url, rabbitmqUrl: amqpAddress(cluster), environment: 'production' }
  const running = await runConsumer(consumer, options)
  const relay = await runRelay({ ...options, brokers: ['rabbitmq'] })
  parts.push(running, relay)
  let sent = 0
  const send = async (alive: readonly ClusterNode[]) => {
    const id = String(sent++)
    await onAny(alive, async channel => {
      channel.sendToQueue('work', Buffer.from(JSON.stringify({ id })), { persistent: true })
      await channel.waitForConfirms()
    })
    await publishInTransaction(pool, { broker: 'rabbitmq', queue: 'relayed' }, [{ id, body: { id } }])
  }
  const done = () =>
    until(
      `all ${sent} are applied and published`,
      async () => {
        const { rows } = await pool.query(
          'select (select count(*) from got)::int as got, (select count(*) from onceward.outbox)::int as waiting',
        )
        return rows[0].got === sent && rows[0].waiting === 0
      },
      { deadlineMs },
    )
  await send(cluster.nodes)
  await done()
  const used = new Set<string>()
  for (let round = 0; round < 2; round++) {
    const node = await nodeOf(cluster.nodes, 'onceward consumes work')
    used.add(node.name)
    const others = cluster.nodes.filter(one => one !== node)
    await node.kill()
    await send(others)
    await done()
    const next = await nodeOf(others, 'onceward consumes work')
    assert.notEqual(next.name, node.name)
    used.add(next.name)
    await until('it says that all is well', () => running.health().ready, { deadlineMs })
    await node.start()
    await cluster.formed()
  }
  assert.ok(used.size > 1)
  const { rows } = await pool.query('select count(*)::int as n from onceward.destination')
  assert.equal(rows[0].n, 1, 'all nodes are one destination')
  assert.equal((await listBrokers(pool)).length, 1, 'and one broker')
  const names = await pool.query('select distinct announced from onceward.cluster_name')
  assert.ok(names.rows.length > 1, 'whose nodes announce names of their own')
}
