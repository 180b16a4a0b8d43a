import { realEnvironment } from 'onceward'
import { createPool } from 'onceward/postgres'
import { type CrashPoint, dieAt } from 'onceward/testing'
import { purgeConsumer } from '../../src/operations/retention/purge-consumer.ts'
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
}

const orders = JSON.parse(process.env.PURGE_ORDERS!) as PurgeOrders
const { url, consumerId, folder, point, hit, witness } = orders
const pool = createPool(url, { max: 2 })
const real = realEnvironment()
const env = point === null ? real : { ...real, reach: dieAt(point, { hit, witness }) }
const section = {
  markers: '30d',
  ...(folder !== null && { action: 'archive' as const }),
  ...(orders.daily === true && { partitions: 'daily' as const }),
}
let goOn = orders.goOn === true
process.on('message', () => {
  goOn = false
})
do {
  await purgeConsumer({
    ...purgeOptions({ pool, consumerId }, section, env),
    ...(folder !== null && { archive: { folder } }),
  })
  process.send?.('passed')
} while (goOn)
await pool.end()
process.disconnect?.()
