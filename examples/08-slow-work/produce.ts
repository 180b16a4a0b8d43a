import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createPool, createQueue, hint, publish } from 'onceward/postgres'
import type { StatementRequested } from './messages.ts'
import { readSettings } from './settings.ts'

export function request(accountId: string, monthNumber: number): StatementRequested {
  const month = `2026-${String(monthNumber).padStart(2, '0')}`
  return {
    messageId: `${accountId}-${month}`,
    accountId,
    month,
    lines: [
      { text: 'coffee', amount: -250 },
      { text: 'salary', amount: 250_000 },
    ],
  }
}

export async function send(
  pool: ReturnType<typeof createPool>,
  queue: string,
  requests: readonly StatementRequested[],
): Promise<void> {
  await createQueue(pool, queue)
  await publish(
    pool,
    queue,
    requests.map(body => ({ body, key: body.accountId })),
  )
  await hint(pool, queue)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { values } = parseArgs({ options: { accounts: { type: 'string', default: '10' } } })
  const pool = createPool(process.env.ONCEWARD_DATABASE_URL!, { max: 1 })
  for (let account = 1; account <= Number(values.accounts); account++) {
    const months = [1, 2, 3].map(month => request(`acc-${account}`, month))
    // Sends the first request twice.
    await send(pool, readSettings().queue, [...months, months[0]!])
  }
  await pool.end()
}
