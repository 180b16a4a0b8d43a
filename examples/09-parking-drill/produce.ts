import { fileURLToPath } from 'node:url'
import { createPool, createQueue, hint, publish } from 'onceward/postgres'
import { queue } from './invoice-booking.ts'
import type { InvoiceReceived } from './messages.ts'

/**
 * A morning: `north` is fine, `south` was never opened, one invoice of `east` is in dollars, and one of `west`
 * is a test.
 */
export const morning: readonly InvoiceReceived[] = [
  ...['north', 'south'].flatMap(accountId =>
    [1, 2, 3].map(n => ({ messageId: `${accountId}-${n}`, accountId, currency: 'EUR', amount: n * 100 })),
  ),
  { messageId: 'east-1', accountId: 'east', currency: 'USD', amount: 100 },
  { messageId: 'east-2', accountId: 'east', currency: 'EUR', amount: 200 },
  { messageId: 'west-1', accountId: 'west', currency: 'TEST', amount: 1 },
  { messageId: 'west-2', accountId: 'west', currency: 'EUR', amount: 200 },
  { messageId: 'west-3', accountId: 'west', currency: 'passport no. 12345', amount: 1 },
]

export async function send(
  pool: ReturnType<typeof createPool>,
  invoices: readonly InvoiceReceived[],
): Promise<void> {
  await createQueue(pool, queue)
  await publish(
    pool,
    queue,
    invoices.map(body => ({ body, key: body.accountId })),
  )
  await hint(pool, queue)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const pool = createPool(process.env.ONCEWARD_DATABASE_URL!, { max: 1 })
  await send(pool, morning)
  await pool.end()
}
