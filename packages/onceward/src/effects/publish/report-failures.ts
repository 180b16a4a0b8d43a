import { noteFailures } from '../../drivers/postgres/outbox/note-failures.ts'
import { errorCode, errorText } from '../../errors.ts'
import type { PublishedRows } from './publish-rows.ts'
import type { RelayOptions } from './relay-options.ts'

/**
 * Logs one line per queue, counts each failure by error code, and stores the count and the last error in each
 * row.
 */
export async function reportFailures(
  { pool, broker, destination = broker, env }: RelayOptions,
  failed: PublishedRows['failed'],
): Promise<void> {
  for (const { error } of failed) env.metrics.add('publishFailures', 1, { broker, code: errorCode(error) })
  for (const [queue, [first]] of Map.groupBy(failed, ({ row }) => row.message.queue)) {
    const { messageId } = first!.row.message
    const error = errorText(first!.error)
    env.log.warn('message not published; its row stays and its key waits', {
      broker,
      destination,
      queue,
      messageId,
      error,
    })
  }
  await noteFailures(
    pool,
    destination,
    failed.map(({ row, error }) => ({ row, error: errorText(error, 500) })),
  )
}
