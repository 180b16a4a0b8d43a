import { errorText } from '../../errors.ts'
import type { ChildMessage, ChildOrders } from './orders.ts'

// Loaded before the orders arrive: a child waits warm.
const loading = import('./carry-out.ts')

const send = (message: ChildMessage) => void process.send?.(message)

process.on('disconnect', () => process.exit(0))
process.once('message', async (orders: ChildOrders) => {
  try {
    await (await loading).carryOut(orders, send)
  } catch (error) {
    send({ kind: 'failed', error: errorText(error, 2_000) })
  }
})
await loading
send({ kind: 'ready' })
