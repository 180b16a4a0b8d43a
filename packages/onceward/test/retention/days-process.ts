import { createPool } from 'onceward/postgres'
import { type CrashPoint, dieAt } from 'onceward/testing'
import { partitionConsumer } from '../../src/operations/retention/partition-consumer.ts'
import { consumerOf } from './days-scene.ts'

export interface DaysOrders {
  readonly url: string
  readonly point: CrashPoint
  readonly witness: string
}

const { url, point, witness } = JSON.parse(process.env.DAYS_ORDERS!) as DaysOrders
const pool = createPool(url, { max: 2 })
const wide = { markers: '90d', partitions: 'daily' } as const
await partitionConsumer(pool, consumerOf('uuidv7', wide) as never, {
  reach: dieAt(point, { hit: 1, witness }),
})
await pool.end()
