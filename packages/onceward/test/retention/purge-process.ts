import { realEnvironment } from 'onceward'
import { createPool } from 'onceward/postgres'
import { type CrashPoint, dieAt } from 'onceward/testing'
import { purgeConsumer } from '../../src/operations/retention/purge-consumer.ts'
import { declareTerms } from '../../src/operations/retention/record-pass.ts'
import { purgeOptions } from './scene.ts'

export interface PurgeOrders {
  readonly url: string
  readonly consumerId: number
  readonly folder: string | null
  readonly point: CrashPoint | null
  readonly hit: number
  readonly witness: string
  /** Default: one pass. Otherwise one after the other, until told to stop. */
  readonly goOn?: boolean
  /** Markers lie in days. */
  readonly daily?: boolean
  /** Receipts are removed after ten days. */
  readonly receipts?: boolean
}

const orders = JSON.parse(process.env.PURGE_ORDERS!) as PurgeOrders
const { url, consumerId, folder, point, hit, witness } = orders
const pool = createPool(url, { max: 2 })
const real = realEnvironment()
const env = point === null ? real : { ...real, reach: dieAt(point, { hit, witness }) }
const section = {
  markers: '30d',
  ...(folder !== null && { action: 'archive' as const }),
  ...(orders.receipts === true && { receipts: '10d' }),
  ...(orders.daily === true && { partitions: 'daily' as const }),
}
let goOn = orders.goOn === true
process.on('message', () => {
  goOn = false
})
const options = purgeOptions({ pool, consumerId }, section, env)
if (orders.receipts === true) await declareTerms(pool, consumerId, options.retention, 0)
do {
  await purgeConsumer({
    ...options,
    ...(folder !== null && { archive: { folder } }),
  })
  process.send?.('passed')
} while (goOn)
await pool.end()
process.disconnect?.()
