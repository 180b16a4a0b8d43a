import { realEnvironment, runConsumer } from 'onceward'
import { type CrashPoint, dieAt } from 'onceward/testing'
import { parcelTracking } from '../parcel-tracking.ts'
import type { Settings } from '../settings.ts'

/** Settings that the test passes through the environment. */
export interface Orders {
  readonly settings: Settings
  readonly databaseUrl: string
  readonly rabbitmqStreamUrl: string
  /** Kills itself with SIGKILL at this passage of the point. */
  readonly dieAt: CrashPoint
  readonly hit: number
}

const {
  settings,
  databaseUrl,
  rabbitmqStreamUrl,
  dieAt: point,
  hit,
} = JSON.parse(process.env.PARCEL_ORDERS!) as Orders
process.on('disconnect', () => process.exit(0))
const running = await runConsumer(parcelTracking(settings), {
  databaseUrl,
  rabbitmqStreamUrl,
  parts: ['consumer'],
  env: realEnvironment({ reach: dieAt(point, { hit }) }),
})
await running.finished
