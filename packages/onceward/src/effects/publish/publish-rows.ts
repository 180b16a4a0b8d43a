import type { OutboxRow } from '../../drivers/postgres/outbox/take-rows.ts'
import type { Timers } from '../../environment.ts'
import { OncewardError } from '../../errors.ts'
import type { PublishAnswer, Publisher } from '../../ports/publisher.ts'
import { lineOf } from './line-of.ts'

/** The result of a round. Rows in neither list were not tried: an earlier row of their key failed. */
export interface PublishedRows {
  readonly confirmed: readonly OutboxRow[]
  readonly failed: readonly { readonly row: OutboxRow; readonly error: Error }[]
}

export interface PublishBounds {
  readonly timers: Timers
  readonly timeoutMs: number
  readonly signal: AbortSignal
  readonly still: () => boolean
}

export async function publishRows(
  publisher: Publisher,
  rows: readonly OutboxRow[],
  bounds: PublishBounds,
): Promise<PublishedRows> {
  const answers = await boundedAnswers(publisher, rows, bounds)
  const confirmed: OutboxRow[] = []
  const failed: { row: OutboxRow; error: Error }[] = []
  const stopped = new Set<string>()
  for (const [index, row] of rows.entries()) {
    const answer = answers[index] ?? 'behind'
    const line = lineOf(row.message)
    if (answer === 'confirmed') confirmed.push(row)
    if (typeof answer === 'string' || (line !== null && stopped.has(line))) continue
    if (line !== null) stopped.add(line)
    failed.push({ row, error: answer })
  }
  return { confirmed, failed }
}

/** Bounds the wait for a silent broker. Messages it accepted without confirming are published again. */
function boundedAnswers(
  publisher: Publisher,
  rows: readonly OutboxRow[],
  { timers, timeoutMs, signal, still }: PublishBounds,
): Promise<readonly PublishAnswer[]> {
  const { promise, resolve } = Promise.withResolvers<readonly PublishAnswer[]>()
  const none = (error: Error) => resolve(rows.map(() => error))
  const left = () => none(signal.reason)
  let given = true
  const cancel = timers.after(timeoutMs, () => {
    none(
      new OncewardError(
        'publish_unconfirmed',
        `The broker did not answer within ${timeoutMs} ms. The rows stay and are published again under the same ids.`,
      ),
    )
  })
  signal.addEventListener('abort', left, { once: true })
  const messages = rows.map(row => row.message)
  publisher.publish(messages, () => given && still()).then(resolve, none)
  return promise.finally(() => {
    given = false
    cancel()
    signal.removeEventListener('abort', left)
  })
}
