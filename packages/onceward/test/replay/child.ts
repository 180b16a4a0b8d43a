import { defineConsumer, openReplay, realEnvironment } from 'onceward'
import { type CrashPoint, dieAt } from 'onceward/testing'
import { factContract } from './scene.ts'

/** What a parent tells a process that runs a campaign; see `kill.test.ts`. */
export interface RunnerOrders {
  readonly databaseUrl: string
  readonly path: string
  readonly id: string
  readonly step: 'run' | 'swap' | 'rollBack'
  /** Default 3. */
  readonly inFlightMax?: number
  readonly dieAt: { readonly point: CrashPoint; readonly hit: number; readonly witness: string } | null
}

const orders = JSON.parse(process.env.RUNNER_ORDERS!) as RunnerOrders
const reach = orders.dieAt === null ? undefined : dieAt(orders.dieAt.point, orders.dieAt)
const { inFlightMax = 3 } = orders
const contract = factContract(orders.path, { batch: { sizeMax: 10, deliveriesMax: 40, inFlightMax } })
const replay = await openReplay(defineConsumer(contract), {
  databaseUrl: orders.databaseUrl,
  env: realEnvironment(reach && { reach }),
})
if (orders.step === 'swap')
  await replay.swap(orders.id, { accept: { effect: 'somebody spoilt the live rows' } })
else await replay[orders.step](orders.id)
await replay.close()
