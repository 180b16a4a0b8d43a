import { runConsumer } from 'onceward'
import type { Settings } from '../settings.ts'
import { statementRendering } from '../statement-rendering.ts'

/** Settings that the test passes through the environment. */
export interface Orders {
  readonly settings: Settings
  readonly databaseUrl: string
}

const { settings, databaseUrl } = JSON.parse(process.env.STATEMENT_ORDERS!) as Orders
process.on('disconnect', () => process.exit(0))
const running = await runConsumer(statementRendering(settings), { databaseUrl })
await running.finished
