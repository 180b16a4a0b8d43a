import { realEnvironment, runConsumer } from 'onceward'
import { type CrashPoint, dieAt } from 'onceward/testing'
import { caseProjection } from '../case-projection.ts'
import type { Settings } from '../settings.ts'

/** Settings that the test passes through the environment. */
export interface Orders {
  readonly settings: Settings
  readonly databaseUrl: string
  readonly kafkaBootstrap: string
  /** Kills itself with SIGKILL when it gets here. */
  readonly dieAt: CrashPoint
}

const { settings, databaseUrl, kafkaBootstrap, dieAt: point } = JSON.parse(process.env.CASE_ORDERS!) as Orders
process.on('disconnect', () => process.exit(0))
const running = await runConsumer(caseProjection(settings), {
  databaseUrl,
  kafkaBootstrap,
  parts: ['consumer'],
  env: realEnvironment({ reach: dieAt(point) }),
})
await running.finished
