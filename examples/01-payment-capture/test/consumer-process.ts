import { type Part, realEnvironment, runConsumer } from 'onceward'
import { type CrashPoint, dieAt } from 'onceward/testing'
import { paymentCapture } from '../payment-capture.ts'
import type { Settings } from '../settings.ts'

/** Settings that the test passes through the environment. */
export interface Orders {
  readonly settings: Settings
  readonly databaseUrl: string
  readonly rabbitmqUrl: string | undefined
  readonly parts: readonly Part[]
  /** Kills itself with SIGKILL when it gets here. */
  readonly dieAt?: CrashPoint
}

const orders = JSON.parse(process.env.PAYMENT_ORDERS!) as Orders
process.on('disconnect', () => process.exit(0))
const running = await runConsumer(paymentCapture(orders.settings), {
  databaseUrl: orders.databaseUrl,
  rabbitmqUrl: orders.rabbitmqUrl,
  parts: orders.parts,
  env: realEnvironment(orders.dieAt ? { reach: dieAt(orders.dieAt) } : {}),
})
process.on('message', () => void running.drain())
process.send!('running')
await running.finished
process.disconnect()
