import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect } from 'amqplib'
import { type Mode, type Part, type Running, realEnvironment, runConsumer } from 'onceward'
import { createPool, createQueue, migrate } from 'onceward/postgres'
import { type CrashPoint, until } from 'onceward/testing'
import { createDatabase, rabbitmqUrl } from '../../../packages/onceward/test/services/services.ts'
import { type Mood, startGateway } from '../gateway.ts'
import { paymentCapture } from '../payment-capture.ts'
import { postgresSender, rabbitSender, type Send } from '../produce.ts'
import type { Settings } from '../settings.ts'
import type { Orders } from './consumer-process.ts'

export type BrokerName = Settings['broker']

interface RunSettings {
  readonly parts?: readonly Part[]
  readonly mode?: Mode
  readonly settings?: Partial<Settings>
}

/** A database, a queue and a gateway of one test, with everything it may ask of them. */
export async function openScene(broker: BrokerName, mood?: (call: number) => Mood) {
  const database = await createDatabase()
  const url = broker === 'rabbitmq' ? await rabbitmqUrl() : undefined
  const gateway = await startGateway(mood)
  const pool = createPool(database.url, { max: 4 })
  const queue = `payment.capture.requested.q.${randomBytes(4).toString('hex')}`
  const settings: Settings = { broker, queue, gatewayUrl: gateway.url, generation: 1, leaseMs: 30_000 }
  const closing: (() => unknown)[] = []
  const queues = url === undefined ? postgresQueues(database.url) : await rabbitQueues(url)
  await migrate(pool)
  await pool.query(readFileSync(new URL('../tables.sql', import.meta.url), 'utf8'))
  await pool.query(`insert into merchant values ('merchant-1', 'active'), ('merchant-2', 'blocked')`)
  await queues.ensure(queue)

  const access = { databaseUrl: database.url, rabbitmqUrl: url }
  return {
    settings,
    gateway,
    pool,
    url: database.url,
    rows: async (sql: string) => (await pool.query(sql)).rows,
    send: (...bodies: string[]) => queues.send(queue, bodies),
    sendTo: (name: string, bodies: string[]) => queues.send(name, bodies),
    /** What the broker would still deliver. */
    depth: () => queues.depth(queue),
    deadLetters: () => queues.bodies(`${queue}.dead`),

    /** In this process. */
    async run({ parts, mode, settings: changes }: RunSettings = {}): Promise<Running> {
      const running = await runConsumer(paymentCapture({ ...settings, ...changes }), {
        ...access,
        ...(parts && { parts }),
        ...(mode && { mode }),
        env: realEnvironment(),
      })
      closing.push(() => running.drain())
      return running
    },

    /** In a separate process, which may be killed. */
    async spawn(parts: readonly Part[], dieAt?: CrashPoint): Promise<ChildProcess> {
      // Short, so the work of a killed process is taken over soon.
      const orders: Orders = {
        settings: { ...settings, leaseMs: 1_000 },
        ...access,
        parts,
        ...(dieAt && { dieAt }),
      }
      const child = fork(new URL('./consumer-process.ts', import.meta.url), {
        env: { ...process.env, PAYMENT_ORDERS: JSON.stringify(orders) },
      })
      closing.push(() => child.kill('SIGKILL'))
      await Promise.race([once(child, 'message'), once(child, 'exit')])
      return child
    },

    /**
     * Waits until no message waits, is leased or unacknowledged, seen from outside after the consumer has
     * left.
     */
    async drained(running: Running): Promise<number> {
      await running.drain()
      return queues.depth(queue)
    },

    async close(): Promise<void> {
      for (const close of closing.reverse()) await close()
      await queues.close([queue, `${queue}.dead`])
      gateway.close()
      await pool.end()
      await database.drop()
    },
  }
}

export type Scene = Awaited<ReturnType<typeof openScene>>

interface Queues {
  ensure(name: string): Promise<void>
  send(name: string, bodies: readonly string[]): Promise<void>
  depth(name: string): Promise<number>
  bodies(name: string): Promise<string[]>
  close(names: readonly string[]): Promise<void>
}

async function sendOnce({ send, close }: { send: Send; close(): Promise<void> }, bodies: readonly string[]) {
  await send(bodies).finally(close)
}

function postgresQueues(url: string): Queues {
  const pool = createPool(url, { max: 2 })
  const read = async (name: string) =>
    (
      await pool.query(
        `select convert_from(body, 'utf8') as body from onceward.queue_message m
         join onceward.queue q on q.id = m.queue_id where q.name = $1`,
        [name],
      )
    ).rows.map(row => row.body as string)
  return {
    ensure: name => createQueue(pool, name),
    send: (name, bodies) => sendOnce(postgresSender(url, name), bodies),
    depth: async name => (await read(name)).length,
    bodies: read,
    close: () => pool.end(),
  }
}

async function rabbitQueues(url: string): Promise<Queues> {
  const connection = await connect(url)
  const channel = await connection.createChannel()
  return {
    ensure: async name => {
      // As the contract declares it, so that messages can be sent before the first consumer starts.
      const limit =
        Number.parseInt(String(connection.connection.serverProperties.version), 10) >= 4
          ? { 'x-delivery-limit': -1 }
          : {}
      await channel.assertQueue(name, { durable: true, arguments: { 'x-queue-type': 'quorum', ...limit } })
    },
    send: (name, bodies) => sendOnce(rabbitSender(url, name), bodies),
    depth: async name => (await channel.checkQueue(name)).messageCount,
    async bodies(name) {
      const found: string[] = []
      for (let got = await channel.get(name); got !== false; got = await channel.get(name)) {
        found.push(got.content.toString())
      }
      return found
    },
    async close(names) {
      for (const name of names) await channel.deleteQueue(name)
      await connection.close()
    },
  }
}

export { until }
