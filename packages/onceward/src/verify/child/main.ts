import { errorText } from '../../errors.ts'
import type { ChildMessage, ChildOrders } from './orders.ts'

// Loaded before the orders arrive: a child waits warm.
const loading = import('./carry-out.ts')

const send = (message: ChildMessage) =>
  new Promise<void>(sent => {
    if (process.send === undefined) sent()
    else process.send(message, undefined, undefined, () => sent())
  })

process.on('disconnect', () => process.exit(0))
process.once('message', async (orders: ChildOrders) => {
  try {
    await (await loading).carryOut(orders, send)
  } catch (error) {
    await send({ kind: 'failed', error: errorText(error, 2_000) })
  }
})
await loading
void send({ kind: 'ready' })
