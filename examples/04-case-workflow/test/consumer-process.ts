import { realEnvironment, runConsumer } from 'onceward'
import { type CrashPoint, dieAt } from 'onceward/testing'
import { caseWorkflow } from '../case-workflow.ts'
import type { Settings } from '../settings.ts'

/** Settings that the test passes through the environment. */
export interface Orders {
  readonly settings: Settings
  readonly databaseUrl: string
  /** Kills itself with SIGKILL when it gets here. */
  readonly dieAt: CrashPoint
}

const { settings, databaseUrl, dieAt: point } = JSON.parse(process.env.CASE_ORDERS!) as Orders
process.on('disconnect', () => process.exit(0))
const running = await runConsumer(caseWorkflow(settings), {
  databaseUrl,
  env: realEnvironment({ reach: dieAt(point) }),
})
await running.finished
