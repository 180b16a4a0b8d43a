import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { describe, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { SourceDeclaration } from 'onceward'
import { topic } from 'onceward/kafka'
import { createPool, createQueue, migrate, postgresQueue, publish } from 'onceward/postgres'
import { queue } from 'onceward/rabbitmq'
import { until } from 'onceward/testing'
import { askRabbit } from '../crash/brokers/rabbitmq.ts'
import { openKafka } from '../kafka/fixture.ts'
import { createDatabase, kafkaBootstrap, rabbitmqUrl, skipWithout } from '../services/services.ts'
import type { DeferOrders, Step } from './defer-child.ts'

type Pool = ReturnType<typeof createPool>

/** A source that keeps the order of a key, and how to fill it. */
interface Ordered {
  readonly declaration: SourceDeclaration
  publish(steps: readonly Step[]): Promise<void>
}

const count = 900
const keys = 13
const program = fileURLToPath(new URL('defer-child.ts', import.meta.url))

const opens = {
  async postgres(_t: TestContext, name: string, pool: Pool): Promise<Ordered> {
    await createQueue(pool, name)
    return {
      declaration: postgresQueue(name, { keyOrder: true, leaseMs: 1_500 }),
      publish: steps =>
        publish(
          pool,
          name,
          steps.map(body => ({ body, key: body.key })),
        ),
    }
  },
  async rabbitmq(_t: TestContext, name: string): Promise<Ordered> {
    const url = await rabbitmqUrl()
    const args = { 'x-queue-type': 'quorum', 'x-delivery-limit': -1, 'x-single-active-consumer': true }
    await askRabbit(url, channel => channel.assertQueue(name, { durable: true, arguments: args }))
    return {
      declaration: queue(name, { singleActiveConsumer: true }),
      publish: steps =>
        askRabbit(url, async channel => {
          for (const step of steps) channel.sendToQueue(name, Buffer.from(JSON.stringify(step)))
          await channel.waitForConfirms()
        }),
    }
  },
  async kafka(t: TestContext, name: string): Promise<Ordered> {
    const kafka = await openKafka(t)
    await kafka.createTopic({ name, partitions: 3 })
    return {
      declaration: topic(name, { group: name, start: 'earliest', sessionTimeoutMs: 6_000 }),
      publish: async steps => {
        const partition = (key: string) => Number(key.slice(1)) % 3
        await kafka.produce(
          name,
          steps.map(step => ({
            value: JSON.stringify(step),
            key: step.key,
            partition: partition(step.key),
          })),
        )
      },
    }
  },
}

for (const broker of ['postgres', 'rabbitmq', 'kafka'] as const) {
  describe(`deferred failures on ${broker}`, await skipWithout('postgres', broker), () => {
    test('two processes, random failures and kill -9: every effect once, each key in order', {
      timeout: 240_000,
    }, async t => {
      const database = await createDatabase()
      t.after(() => database.drop())
      const pool = createPool(database.url, { max: 3 })
      t.after(() => pool.end())
      await migrate(pool)
      await pool.query('create table step (place bigserial, key text not null, id text not null)')
      const source = await opens[broker](t, `defer.${randomBytes(6).toString('hex')}`, pool)
      const steps = Array.from({ length: count }, (_, n) => ({ id: `s${n}`, key: `k${n % keys}` }))
      await source.publish(steps.slice(0, count / 2))

      const orders = {
        databaseUrl: database.url,
        rabbitmqUrl: broker === 'rabbitmq' ? await rabbitmqUrl() : '',
        kafkaBootstrap: broker === 'kafka' ? await kafkaBootstrap() : '',
        declaration: source.declaration,
      }
      const children = [await start(t, orders), await start(t, orders)]
      for (const [victim, share] of [0.1, 0.3, 0.5, 0.7].entries()) {
        await until('some are applied', async () => (await applied(pool)) > share * count)
        if (share === 0.3) await source.publish(steps.slice(count / 2))
        await kill(children[victim % 2]!)
        children[victim % 2] = await start(t, orders)
      }
      await until('all are applied', async () => (await applied(pool)) >= count, { deadlineMs: 120_000 })
      await until('nothing is held', async () => (await held(pool)) === 0)
      for (const child of children) await kill(child)

      const { rows } = await pool.query(
        'select key, array_agg(id order by place) as ids from step group by key',
      )
      for (const { key, ids } of rows)
        assert.deepEqual(
          ids,
          steps.filter(step => step.key === key).map(step => step.id),
          `order of ${key}`,
        )
      assert.equal(rows.length, keys)
      const deferrals = await pool.query('select count(*)::int as count from onceward.attempt')
      assert.ok(deferrals.rows[0].count > 20, 'failures were staged')
    })
  })
}

async function start(t: TestContext, orders: DeferOrders): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--conditions=@onceward/source', program], {
    env: { ...process.env, DEFER_ORDERS: JSON.stringify(orders) },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  t.after(() => kill(child))
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve())
    child.once('exit', code => reject(new Error(`a child ended with ${code} before it ran`)))
  })
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise(resolve => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
}

async function applied(pool: Pool): Promise<number> {
  return (await pool.query('select count(*)::int as count from step')).rows[0].count
}

async function held(pool: Pool): Promise<number> {
  return (await pool.query('select count(*)::int as count from onceward.held')).rows[0].count
}
