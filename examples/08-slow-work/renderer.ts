import { setTimeout as sleep } from 'node:timers/promises'
import type { StatementRequested } from './messages.ts'

/**
 * Represents slow work: a renderer, a model, a mainframe. Stops when the signal is aborted, because the
 * worker has lost its lease.
 */
export async function render(
  { accountId, month, lines }: StatementRequested,
  renderMs: number,
  signal: AbortSignal,
): Promise<string> {
  await sleep(renderMs, undefined, { signal })
  const total = lines.reduce((sum, line) => sum + line.amount, 0)
  return [
    `Statement ${month}, account ${accountId}`,
    ...lines.map(l => `${l.text}\t${l.amount}`),
    `${total}`,
  ].join('\n')
}
