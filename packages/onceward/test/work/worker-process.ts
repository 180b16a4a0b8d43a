import { defineConsumer, type Part, realEnvironment, runConsumer } from 'onceward'
import { type JobContext, jobContract, write } from './scene.ts'

/** What a parent tells a worker process. */
export interface ProcessOrders {
  readonly url: string
  readonly name: string
  readonly leaseMs: number
  readonly order: 'none' | 'key'
  readonly parts: readonly Part[]
  readonly handlerTimeoutMs: number
  /**
   * Tells the parent and waits inside the handler of this id: for ever, until the parent says go on, or in a
   * busy loop until then.
   */
  readonly stopIn?: {
    readonly id: string
    readonly how: 'for ever' | 'until told' | 'busy'
    readonly busyMs?: number
  }
}

const orders = JSON.parse(process.env.PROCESS_ORDERS!) as ProcessOrders
const { name, stopIn, leaseMs, order, handlerTimeoutMs } = orders
const told = new Promise<void>(resolve => process.once('message', () => resolve()))
let stopped = false

async function stop({ signal }: JobContext): Promise<void> {
  stopped = true
  process.send!('stopped')
  if (stopIn!.how === 'for ever') await new Promise(() => {})
  if (stopIn!.how === 'until told') await told
  if (stopIn!.how === 'busy') {
    const end = performance.now() + stopIn!.busyMs!
    while (performance.now() < end);
  }
  process.send!(`went on, aborted ${signal.aborted}`)
}

const consumer = defineConsumer(
  jobContract(name, {
    order,
    inbox: { leaseMs, workers: 2 },
    batch: { sizeMax: 4, handlerTimeoutMs },
    handle: async context => {
      if (context.message.id === stopIn?.id && !stopped) await stop(context)
      await write(context, name)
    },
  }),
)
const running = await runConsumer(consumer, {
  databaseUrl: orders.url,
  parts: orders.parts,
  env: realEnvironment(),
})
process.once('SIGTERM', () => void running.drain(20_000))
process.send!('running')
await running.finished
process.disconnect()
