import { defineConsumer, realEnvironment, runConsumer, type SqlTransaction } from 'onceward'
import { postgresQueue } from 'onceward/postgres'
import { type CrashPoint, dieAt } from 'onceward/testing'

/** What a parent tells a process whose handler writes a column. */
export interface BrakeOrders {
  readonly databaseUrl: string
  readonly queue: string
  readonly column: string
  readonly dieAt?: { readonly point: CrashPoint; readonly witness: string }
}

const orders = JSON.parse(process.env.BRAKE_ORDERS!) as BrakeOrders
const consumer = defineConsumer<{ id: string }, SqlTransaction>({
  name: orders.queue,
  owner: 'tests',
  risk: 'money',
  source: postgresQueue(orders.queue, { leaseMs: 1_500 }),
  handlerVersion: orders.column,
  identity: { id: m => m.id },
  batch: { sizeMax: 7, deliveriesMax: 60 },
  failure: { brake: { pauseMs: 100, pauseMaxMs: 400 } },
  async handle({ message, tx }) {
    await tx.query(`insert into ${orders.queue}_effect (${orders.column}) values ($1)`, [message.id])
  },
})
const death = orders.dieAt
const running = await runConsumer(consumer, {
  databaseUrl: orders.databaseUrl,
  env: realEnvironment(death && { reach: dieAt(death.point, death) }),
})
process.once('SIGTERM', () => void running.drain(20_000))
await running.finished
