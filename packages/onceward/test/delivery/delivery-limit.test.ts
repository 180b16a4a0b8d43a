import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import amqp from 'amqplib'
import { createPool, migrate } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { until } from 'onceward/testing'
import { startGateway } from '../crash/gateway.ts'
import { killWorker, spawnWorker, type Worker } from '../crash/worker.ts'
import { tables } from '../crash/workload.ts'
import { createDatabase, rabbitmqUrl, skipWithout } from '../services/services.ts'

const messages = 12

describe('a delivery limit on a queue of others', await skipWithout('postgres', 'rabbitmq'), () => {
  test('innocent messages of a repeatedly killed process return from the dead-letter queue, each applied once', async () => {
    await using env = await openEnvironment()
    await env.publish()
    // With limit 2 the third death moves everything that was prefetched.
    for (let deaths = 1; deaths <= 3; deaths++) {
      await env.dieInHandler()
      await env.allBack(deaths < 3 ? { queue: messages, dead: 0 } : { queue: 0, dead: messages })
    }
    assert.deepEqual(await env.effects(), [])
    for (let deaths = 1; deaths <= 2; deaths++) await env.dieInHandler()
    const worker = env.start()
    await worker.running
    await until('everything is applied', async () => (await env.effects()).length === messages)
    await until('the dead-letter queue is empty', async () => (await env.depths()).dead === 0)
    worker.process.kill('SIGTERM')
    assert.equal((await worker.ended).code, 0)
    assert.ok((await env.effects()).every(times => times === 1))
    assert.deepEqual(await env.depths(), { queue: 0, dead: 0 })
  })
})

async function openEnvironment() {
  const database = await createDatabase()
  const pool = createPool(database.url, { max: 2 })
  await migrate(pool)
  await pool.query(tables)
  const url = await rabbitmqUrl()
  const connection = await amqp.connect(url)
  const channel = await connection.createConfirmChannel()
  const name = `limit.${randomBytes(6).toString('hex')}`
  const dead = `${name}.dlq`
  const quorum = { 'x-queue-type': 'quorum' }
  await channel.assertQueue(dead, { durable: true, arguments: { ...quorum, 'x-delivery-limit': -1 } })
  await channel.assertQueue(name, {
    durable: true,
    arguments: {
      ...quorum,
      'x-delivery-limit': 2,
      'x-dead-letter-exchange': '',
      'x-dead-letter-routing-key': dead,
      'x-dead-letter-strategy': 'at-least-once',
      'x-overflow': 'reject-publish',
    },
  })
  const gateway = await startGateway()
  const spawned: Worker[] = []
  const start = (extra: { freezeIn?: string } = {}) => {
    const worker = spawnWorker({
      task: 'consume',
      databaseUrl: database.url,
      urls: { postgres: '', rabbitmq: url, stream: '', kafka: '' },
      gatewayUrl: gateway.url,
      declaration: queue(name, { declare: 'verify', deadLetterIngest: dead }),
      deadLetter: `${name}.own`,
      // More than it dies: this is about bystanders, not about the one that would be found and parked.
      attemptsMax: 50,
      ...extra,
    })
    spawned.push(worker)
    return worker
  }
  const depths = async () => ({
    queue: (await channel.checkQueue(name)).messageCount,
    dead: (await channel.checkQueue(dead)).messageCount,
  })
  return {
    start,
    depths,
    async publish() {
      for (let n = 0; n < messages; n++) {
        const id = `charge-${n}`
        const body = JSON.stringify({ id, kind: 'charge', amount: 1 })
        channel.sendToQueue(name, Buffer.from(body), { persistent: true })
      }
      await channel.waitForConfirms()
    },
    /** Killed while the first message is in its handler, everything else prefetched. */
    async dieInHandler() {
      const worker = start({ freezeIn: 'charge-0' })
      await worker.frozen
      await until('everything of the queue is prefetched', async () => (await depths()).queue === 0)
      await killWorker(worker)
    },
    allBack: (expected: { queue: number; dead: number }) =>
      until(
        `the broker has ${JSON.stringify(expected)}`,
        async () => JSON.stringify(await depths()) === JSON.stringify(expected),
      ),
    effects: async () => (await pool.query('select times from effect')).rows.map(row => row.times as number),
    async [Symbol.asyncDispose]() {
      for (const worker of spawned) worker.process.kill('SIGKILL')
      await Promise.all(spawned.map(worker => worker.ended))
      for (const each of [name, dead, `${name}.own`]) await channel.deleteQueue(each)
      await connection.close()
      await gateway.close()
      await pool.end()
      await database.drop()
    },
  }
}
