import { errorCode, errorText } from '../../errors.ts'
import type { PublishedRows } from './publish-rows.ts'
import type { RelayOptions } from './relay-options.ts'

const note = `
  update onceward.outbox set failures = least(failures + 1, 32000), last_error = failed.error
  from unnest($2::smallint[], $3::bigint[], $4::text[]) as failed (bucket, id, error)
  where destination = $1 and outbox.bucket = failed.bucket and outbox.id = failed.id`

/** A line per queue in the log, a count per error, and in each row how often it has failed and why. */
export async function reportFailures(
  { pool, broker, destination = broker, env }: RelayOptions,
  failed: PublishedRows['failed'],
): Promise<void> {
  for (const { error } of failed) env.metrics.add('publishFailures', 1, { broker, code: errorCode(error) })
  for (const [queue, [first]] of Map.groupBy(failed, ({ row }) => row.message.queue)) {
    const { messageId } = first!.row.message
    const error = errorText(first!.error)
    env.log.warn('not published, the row stays and its key waits', {
      broker,
      destination,
      queue,
      messageId,
      error,
    })
  }
  const errors = failed.map(({ error }) => errorText(error, 500))
  await pool.query(note, [
    destination,
    failed.map(({ row }) => row.bucket),
    failed.map(({ row }) => row.id),
    errors,
  ])
}
