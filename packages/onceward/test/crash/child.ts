import { flushCompileCache } from 'node:module'
import type { Reach } from '../../src/crash-points.ts'
import { migrate } from '../../src/drivers/postgres/migrate.ts'
import { createPool } from '../../src/drivers/postgres/pool.ts'
import { dieAt } from '../../src/testing/crash.ts'
import { consume } from './consume.ts'
import type { WorkerOrders } from './orders.ts'

// Killed, it could not leave to the next what it has compiled.
flushCompileCache()

// Loaded by hundreds of processes that live for a second: the whole library would cost each twice as much as
// its work.
const orders = JSON.parse(process.env.WORKER_ORDERS!) as WorkerOrders
const reach = reachOf(orders.dieAt)

if (orders.task === 'migrate') {
  const pool = createPool(orders.databaseUrl, { max: 1 })
  await migrate(pool, { reach })
  await pool.end()
} else {
  const running = await consume(orders, reach, line => console.error(line))
  process.once('SIGTERM', () => void running.drain(20_000))
  process.send?.('running')
  await running.finished
}

function reachOf(death: WorkerOrders['dieAt']): Reach {
  if (death === undefined) return () => {}
  const { point, before, witness } = death
  const there = dieAt(point, death)
  if (before === undefined) return there
  const earlier = dieAt(before, { witness })
  return reached => {
    earlier(reached)
    there(reached)
  }
}
