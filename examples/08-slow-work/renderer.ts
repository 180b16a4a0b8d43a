import { setTimeout as sleep } from 'node:timers/promises'
import type { StatementRequested } from './messages.ts'

/**
 * Stands for whatever takes long: a renderer, a model, a mainframe. Gives up when told that nobody waits for
 * it any more.
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
