import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { connect } from 'amqplib'
import { defineConsumer, type Running, runConsumer, type SqlTransaction } from 'onceward'
import { publishInTransaction, runRelay } from 'onceward/outbox'
import { createPool, migrate } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { until } from 'onceward/testing'
import { listBrokers } from '../../src/restore/brokers.ts'
import { skipWithoutPrivateRabbitmq } from '../services/private-rabbitmq.ts'
import { type ClusterNode, type RabbitmqCluster, startRabbitmqCluster } from '../services/rabbitmq-cluster.ts'
import { createDatabase } from '../services/services.ts'

const deadlineMs = 90_000

describe(
  'a cluster of three nodes without a set cluster name',
  await skipWithoutPrivateRabbitmq('4.0'),
  () => {
    let cluster: RabbitmqCluster
    before(async () => {
      cluster = await startRabbitmqCluster()
    })
    after(() => cluster?.close())

    const hosts = () => cluster.nodes.map(node => new URL(node.url).host)
    const address = (query = '') => `amqp://guest:guest@${hosts().join(',')}/%2F${query}`

    test('the consumer and the relay go on at the next node when theirs is killed, also in a named environment', async t => {
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
      const consumer = defineConsumer<{ id: string }, SqlTransaction>({
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
        for (const name of ['work', 'out', 'relayed'])
          await channel.assertQueue(name, { durable: true, arguments: { 'x-queue-type': 'quorum' } })
      })
      const options = { databaseUrl: database.url, rabbitmqUrl: address(), environment: 'production' }
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
        assert.deepEqual(running.health().reasons, [])
        await node.start()
        await cluster.formed()
      }
      assert.ok(used.size > 1)
      const { rows } = await pool.query('select count(*)::int as n from onceward.destination')
      assert.equal(rows[0].n, 1, 'all nodes are one destination')
      assert.equal((await listBrokers(pool)).length, 1, 'and one broker')
      const names = await pool.query('select distinct announced from onceward.cluster_name')
      assert.ok(names.rows.length > 1, 'whose nodes announce names of their own')
    })

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
  },
)

type Channel = Awaited<ReturnType<Awaited<ReturnType<typeof connect>>['createConfirmChannel']>>

/** A queue whose leader died takes writes again when another was elected. */
async function onAny(
  nodes: readonly ClusterNode[],
  work: (channel: Channel) => Promise<void>,
): Promise<void> {
  let turn = 0
  await until(
    'a node takes it',
    async () => {
      const model = await connect(nodes[turn++ % nodes.length]!.url, { timeout: 5_000 }).catch(() => null)
      if (model === null) return false
      model.on('error', () => {})
      try {
        const channel = await model.createConfirmChannel()
        channel.on('error', () => {})
        await work(channel)
        return true
      } catch {
        return false
      } finally {
        await model.close().catch(() => {})
      }
    },
    { deadlineMs },
  )
}

/** The node that a connection of this name is on. */
async function nodeOf(nodes: readonly ClusterNode[], name: string): Promise<ClusterNode> {
  let found: ClusterNode | undefined
  await until(
    `${name} is connected`,
    async () => {
      for (const node of nodes) {
        const answer = await fetch(`http://127.0.0.1:${node.ports.management}/api/connections`, {
          headers: { authorization: `Basic ${Buffer.from('guest:guest').toString('base64')}` },
          signal: AbortSignal.timeout(5_000),
        }).catch(() => null)
        if (answer?.ok !== true) continue
        const all = (await answer.json()) as {
          node: string
          client_properties?: { connection_name?: string }
        }[]
        const one = all.find(({ client_properties }) => client_properties?.connection_name === name)
        found = nodes.find(candidate => candidate.name === one?.node)
        if (found !== undefined) return true
      }
      return false
    },
    { deadlineMs },
  )
  return found!
}
