import { defineConsumer } from 'onceward'
import { createPool } from 'onceward/postgres'
import { type CrashPoint, dieAt, type Reach } from 'onceward/testing'
import { deleteParked } from '../../src/operations/parking/delete-parked.ts'
import { fixPayload } from '../../src/operations/parking/fix-parked.ts'
import { runRedrive, startRedrive } from '../../src/operations/parking/redrive-parked.ts'
import { skipParked } from '../../src/operations/parking/skip-parked.ts'
import { jobContract } from '../work/scene.ts'
import { pause } from './parked-scene.ts'

/** What a test tells this process through its environment: one act of one operator. */
export interface OperatorOrders {
  readonly url: string
  readonly act: 'replay' | 'skip' | 'fix' | 'delete'
  readonly consumer: string
  readonly ids: readonly string[]
  readonly digest: string
  readonly requestId: string
  readonly dieAt?: { readonly point: CrashPoint; readonly hit: number }
}

const orders = JSON.parse(process.env.OPERATOR_ORDERS!) as OperatorOrders
const { consumer, ids, digest, requestId } = orders
const because = 'an order of the test'
const reach: Reach = orders.dieAt ? dieAt(orders.dieAt.point, { hit: orders.dieAt.hit }) : () => {}
const pool = createPool(orders.url, { max: 1 })

const acts = {
  async replay() {
    await startRedrive(pool, { requestId, consumer, ids, digest, perSecond: null, because }, reach)
    return runRedrive(pool, requestId, { pause, reach, stageMax: 3 })
  },
  skip: () => skipParked(pool, { consumer, ids, digest, because }, { reach }),
  fix: () =>
    fixPayload(
      pool,
      defineConsumer(jobContract(consumer, { order: 'key' })),
      { id: ids[0]!, body: Buffer.from('{"id":"m-0","key":"k0","part":"fixed"}'), because },
      { reach },
    ),
  delete: () => deleteParked(pool, { id: requestId, consumer }, { reach }),
}

try {
  process.stdout.write(JSON.stringify(await acts[orders.act]()))
} catch (error) {
  process.stdout.write(JSON.stringify({ refused: (error as Error).message }))
}
await pool.end()
