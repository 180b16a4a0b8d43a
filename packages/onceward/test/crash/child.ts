import type { Mode, Part, PublishTarget } from 'onceward'
import { defineConsumer } from '../../src/contract/define-consumer.ts'
import type { CrashPoint } from '../../src/crash-points.ts'
import { realSurroundings } from '../../src/runtime/real-surroundings.ts'
import { runConsumer } from '../../src/runtime/run-consumer.ts'
import { migrate } from '../../src/stores/postgres/migrate.ts'
import { createPool } from '../../src/stores/postgres/pool.ts'
import { dieAt } from '../../src/testing/crash.ts'
import type { BrokerUrls } from './brokers.ts'
import { type Memory, workContract } from './workload.ts'

/** What a parent tells a worker process; see `spawnWorker`. */
export interface WorkerOrders {
  readonly databaseUrl: string
  /** Absent for tasks without a broker. */
  readonly urls?: BrokerUrls
  readonly gatewayUrl: string
  readonly declaration: { kind: string }
  readonly deadLetter: string | null
  readonly task: 'consume' | 'migrate'
  readonly parts?: readonly Part[]
  readonly mode?: Mode
  readonly memory?: Memory
  readonly dieAt?: { readonly point: CrashPoint; readonly hit: number; readonly witness: string }
  readonly ledgerLeaseMs?: number
  readonly relayLeaseMs?: number
  readonly target?: PublishTarget
  /** Tells the parent and waits for ever inside the handler of this id, after its first write. */
  readonly freezeIn?: string
  /** Default: the workload's budget. */
  readonly attemptsMax?: number
  readonly handlerTimeoutMs?: number
}

// Loaded by hundreds of processes that live for a second: the whole library would cost each twice as much as its work.
const orders = JSON.parse(process.env.WORKER_ORDERS!) as WorkerOrders
const reach = orders.dieAt ? dieAt(orders.dieAt.point, orders.dieAt) : () => {}

if (orders.task === 'migrate') {
  const pool = createPool(orders.databaseUrl, { max: 1 })
  await migrate(pool, { reach })
  await pool.end()
} else {
  const log = {
    debug() {},
    info() {},
    warn: (message: string, fields?: object) => console.error('warn', message, JSON.stringify(fields)),
    error: (message: string, fields?: object) => console.error('error', message, JSON.stringify(fields)),
  }
  const consumer = defineConsumer(workContract(orders))
  const running = await runConsumer(consumer, {
    databaseUrl: orders.databaseUrl,
    rabbitmqUrl: orders.urls?.rabbitmq,
    rabbitmqStreamUrl: orders.urls?.stream,
    kafkaBootstrap: orders.urls?.kafka,
    world: realSurroundings({ reach, log }),
    ...(orders.parts && { parts: orders.parts }),
    ...(orders.mode && { mode: orders.mode }),
    ...(orders.relayLeaseMs && { relayLeaseMs: orders.relayLeaseMs }),
    ...(orders.ledgerLeaseMs && { dispatcherLeaseMs: orders.ledgerLeaseMs }),
  })
  process.once('SIGTERM', () => void running.drain(20_000))
  process.send?.('running')
  await running.finished
}
