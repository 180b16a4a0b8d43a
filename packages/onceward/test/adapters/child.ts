import { ConsumerProcess, defineConsumer, realEnvironment } from 'onceward'
import { createPool, createPostgresSource, postgresQueue } from 'onceward/postgres'
import { type CrashPoint, dieAt } from 'onceward/testing'
import { libraries } from './libraries.ts'
import type { Job } from './rig.ts'

export interface ChildOrders {
  readonly library: string
  readonly url: string
  readonly queue: string
  /** Where to crash; null to work until stopped. */
  readonly point: CrashPoint | null
  readonly witness: string
}

const orders = JSON.parse(process.env.CHILD_ORDERS!) as ChildOrders
const library = libraries.find(({ name }) => name === orders.library)!
const { store, close } = library.open(orders.url)
const pool = createPool(orders.url, { max: 3 })
const env = realEnvironment()
const consumer = new ConsumerProcess({
  consumer: defineConsumer<Job, unknown>({
    name: 'killed',
    owner: 'tests',
    risk: 'money',
    source: { kind: 'postgres' },
    identity: { id: m => m.id },
    handle: async ({ message, tx }) => void (await library.write(tx, message.id)),
  }),
  source: createPostgresSource(postgresQueue(orders.queue, { leaseMs: 2_000 }), { pool }),
  store,
  env: orders.point === null ? env : { ...env, reach: dieAt(orders.point, { witness: orders.witness }) },
  instance: `${process.pid}`,
})
await consumer.start()
process.once('SIGTERM', async () => {
  await consumer.drain()
  await Promise.all([close(), pool.end()])
})
