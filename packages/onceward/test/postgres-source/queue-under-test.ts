import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Reach } from '../../src/crash-points.ts'
import { migrate } from '../../src/drivers/postgres/migrate.ts'
import { createPool, type PooledClient, type SqlPool } from '../../src/drivers/postgres/pool.ts'
import {
  createPostgresSource,
  createQueue,
  type PostgresQueueOptions,
  postgresQueue,
  publish,
} from '../../src/drivers/postgres/queue/index.ts'
import type { Delivery, QueueOpenOptions, SourceEvent, Subscription } from '../../src/ports/source.ts'
import { createDatabase } from '../services/services.ts'

export type Opened = Subscription & { readonly events: SourceEvent[] }

interface OpenSettings extends PostgresQueueOptions, Partial<QueueOpenOptions> {
  readonly pool?: SqlPool
  readonly reach?: Reach
}

export interface TestQueues {
  readonly url: string
  readonly pool: SqlPool
  createQueue(): Promise<string>
  publish(queue: string, ...bodies: string[]): Promise<void>
  publishKeyed(queue: string, ...keyed: (readonly [key: string, body: string])[]): Promise<void>
  open(queue: string, settings?: OpenSettings): Promise<Opened>
  close(): Promise<void>
}

/** A separate migrated database; everything opened through it is closed with it. */
export async function testQueues(): Promise<TestQueues> {
  const database = await createDatabase()
  const pool = createPool(database.url)
  await migrate(pool)
  const opened: Subscription[] = []
  return {
    url: database.url,
    pool,
    async createQueue() {
      const name = `q_${randomBytes(4).toString('hex')}`
      await createQueue(pool, name)
      return name
    },
    publish: (queue, ...bodies) =>
      publish(
        pool,
        queue,
        bodies.map(body => ({ body })),
      ),
    publishKeyed: (queue, ...keyed) =>
      publish(
        pool,
        queue,
        keyed.map(([key, body]) => ({ key, body })),
      ),
    async open(queue, { pool: ownPool = pool, reach, keyOrder = false, leaseMs = 30_000, ...open } = {}) {
      const events: SourceEvent[] = []
      const source = createPostgresSource(postgresQueue(queue, { keyOrder, leaseMs }), {
        pool: ownPool,
        ...(reach === undefined ? {} : { reach }),
      })
      const subscription = await source.open({
        inFlightMax: 2_000,
        inFlightBytesMax: 64 * 1024 * 1024,
        onEvent: event => events.push(event),
        ...open,
      })
      opened.push(subscription)
      return Object.assign(subscription, { events })
    },
    async close() {
      await Promise.all(opened.map(one => one.close()))
      await pool.end()
      await database.drop()
    },
  }
}

export const texts = (deliveries: readonly Delivery[]) => deliveries.map(({ body }) => body.toString())

/** Receives until `count` deliveries have arrived, or the subscription was closed. */
export async function receiveCount(
  subscription: Subscription,
  count: number,
  max = 500,
): Promise<Delivery[]> {
  const all: Delivery[] = []
  while (all.length < count) {
    const deliveries = await subscription.receive(Math.min(max, count - all.length))
    if (deliveries.length === 0) break
    all.push(...deliveries)
  }
  return all
}

/** Polls until the condition holds; the time limit of the test runner ends a hopeless wait. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await pause(5)
}

/** The same pool, except that `instead` handles statements containing `part`. */
export function poolWith(
  pool: SqlPool,
  part: string,
  instead: (run: () => ReturnType<SqlPool['query']>) => ReturnType<SqlPool['query']>,
): SqlPool {
  const through =
    (query: SqlPool['query']): SqlPool['query'] =>
    (text, values) =>
      text.includes(part) ? instead(() => query(text, values)) : query(text, values)
  return {
    query: through((text, values) => pool.query(text, values)),
    async connect(): Promise<PooledClient> {
      const client = await pool.connect()
      return {
        query: through((text, values) => client.query(text, values)) as PooledClient['query'],
        release: destroy => client.release(destroy),
        on: (event, listener) => client.on(event, listener),
        removeListener: (event, listener) => client.removeListener(event, listener),
      }
    },
    end: () => pool.end(),
  }
}

/**
 * As if the process were frozen or its network cut: heartbeats are sent, but neither arrive nor are answered.
 */
export const withoutHeartbeat = (pool: SqlPool) =>
  poolWith(pool, 'update onceward.queue_lease set until', () => new Promise(() => {}))

/** Like `withoutHeartbeat`, and after `die` no statement is answered: a crashed process. */
export function mortal(pool: SqlPool): { readonly pool: SqlPool; die(): void } {
  let alive = true
  const never = () => new Promise<never>(() => {})
  const dying = {
    connect: () => (alive ? pool.connect() : never()),
    query: (text: string, values?: unknown[]) =>
      alive && !text.includes('update onceward.queue_lease set until') ? pool.query(text, values) : never(),
    end: () => pool.end(),
  }
  return {
    pool: dying,
    die: () => {
      alive = false
    },
  }
}

export const brokenConnection = () => new Error('Connection terminated unexpectedly')
