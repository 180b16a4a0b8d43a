import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { defineConsumer, type Running, runConsumer, type SqlTransaction } from 'onceward'
import { createPool, migrate } from 'onceward/postgres'
import { type QueueOptions, queue } from 'onceward/rabbitmq'
import { until } from 'onceward/testing'
import { askNode, type ClusterNode, type RabbitmqCluster } from '../services/rabbitmq-cluster.ts'
import { createDatabase } from '../services/services.ts'
import { amqpAddress, deadlineMs } from './cluster-scene.ts'
import { writeOn } from './queue-writer.ts'

export interface QueueLoad {
  readonly queue: string
  readonly running: Running
  /** Resolves when much of what is sent from now on was applied, and the consumer says that all is well. */
  worksOn(): Promise<void>
  /** The load ends: everything that was confirmed is applied, and nothing twice. */
  allAppliedOnce(): Promise<void>
}

/**
 * A consumer of a quorum queue on all three nodes, and somebody who writes to it by any node that answers,
 * over every outage.
 */
export async function underLoad(
  t: TestContext,
  cluster: RabbitmqCluster,
  name: string,
  { address = amqpAddress(cluster), options = {} as QueueOptions } = {},
): Promise<QueueLoad> {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 2 })
  await migrate(pool, { environment: 'production' })
  // No key: what is applied twice is seen.
  await pool.query('create table got (id text not null)')
  const consumer = defineConsumer<{ id: string }, SqlTransaction>({
    name,
    owner: 'tests',
    risk: 'money',
    source: queue(name, options),
    identity: { id: m => m.id },
    handle: async ({ message, tx }) => {
      await tx.query('insert into got (id) values ($1)', [message.id])
    },
  })
  const running = await runConsumer(consumer, {
    databaseUrl: database.url,
    rabbitmqUrl: `${address}?heartbeat=4`,
    environment: 'production',
  })
  const writer = writeOn(cluster.nodes, name)
  t.after(async () => {
    await writer.stop()
    await running.drain(10_000)
    await pool.end()
    await database.drop()
  })
  const count = async (what: string) =>
    (await pool.query(`select count(${what})::int as n from got`)).rows[0].n as number
  const load: QueueLoad = {
    queue: name,
    running,
    worksOn: async () => {
      const [confirmed, got] = [writer.confirmed.size, await count('*')]
      const isOn = async () => writer.confirmed.size > confirmed + 200 && (await count('*')) > got + 200
      await until('more is confirmed and applied', isOn, { deadlineMs })
      await isWell(running)
    },
    allAppliedOnce: async () => {
      await writer.stop()
      const missing = async () => {
        const { rows } = await pool.query('select id from got')
        const got = new Set(rows.map(({ id }) => id as string))
        return [...writer.confirmed].filter(id => !got.has(id))
      }
      const isDone = async () => (await missing()).length === 0
      await until('all that was confirmed is applied', isDone, { deadlineMs })
      assert.equal(await count('*'), await count('distinct id'), 'nothing is applied twice')
      assert.equal((await pool.query('select from onceward.held')).rowCount, 0)
      await isWell(running)
    },
  }
  await load.worksOn()
  return load
}

async function isWell(running: Running): Promise<void> {
  await until('it says that all is well', () => running.health().ready, { deadlineMs }).catch(error => {
    throw new Error(JSON.stringify(running.health()), { cause: error })
  })
}

/** Where the leader of a quorum queue is; asked at any of these nodes. */
export async function untilQueueLed(asked: readonly ClusterNode[], name: string): Promise<ClusterNode> {
  let found: ClusterNode | undefined
  await until(
    `${name} has a leader`,
    async () => {
      for (const node of asked) {
        const queue = await askNode<{ leader?: string }>(node, `queues/%2F/${name}`)
        found = asked.find(candidate => candidate.name === queue?.leader)
        if (found !== undefined) return true
      }
      return false
    },
    { deadlineMs },
  )
  return found!
}
