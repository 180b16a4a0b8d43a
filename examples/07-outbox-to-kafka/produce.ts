import { parseArgs } from 'node:util'
import { ensureTopic } from 'onceward/kafka'
import { createPool } from 'onceward/postgres'
import { readSettings } from './settings.ts'
import { moveOrder } from './shop.ts'

const { values } = parseArgs({ options: { orders: { type: 'string', default: '10' } } })
const { topic } = readSettings()
await ensureTopic({ bootstrap: process.env.ONCEWARD_KAFKA_BOOTSTRAP! }, topic, { partitions: 3 })
const pool = createPool(process.env.ONCEWARD_DATABASE_URL!)
for (let n = 0; n < Number(values.orders); n++)
  for (const state of ['placed', 'paid', 'shipped'] as const)
    await moveOrder(pool, topic, { orderId: `order-${n}`, customer: `customer-${n % 3}`, state })
await pool.end()
console.log(`${values.orders} orders placed, paid and shipped; a relay publishes their events`)
