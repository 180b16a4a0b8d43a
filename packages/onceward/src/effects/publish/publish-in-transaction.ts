import { assertPublishTarget } from '../../contract/assert-publish-target.ts'
import type { PublishRequest, PublishTarget } from '../../contract/publish-target.ts'
import { type OutboxTransaction, writeOutbox } from '../../drivers/postgres/sql/write-outbox.ts'
import { outgoingOf } from '../../engine/batch/buffer-messages.ts'
import { currentTrace } from '../../telemetry/traces.ts'

/**
 * A message of a producer that is no consumer: nobody but the producer knows what makes two of them the same,
 * so it gives the id.
 */
export interface OutboxMessage extends PublishRequest {
  id: string
}

/**
 * Writes messages into the outbox inside your own transaction, in one statement: they are published if and
 * when it commits, and at no other time. They carry the trace at hand, unless their headers name another.
 * `tx` is whatever answers `query(text, values)` on that transaction, such as a `pg` client after BEGIN. Some
 * relay must run: `onceward relay`.
 */
export async function publishInTransaction(
  tx: OutboxTransaction,
  target: PublishTarget,
  messages: readonly OutboxMessage[],
): Promise<void> {
  assertPublishTarget(target)
  if (messages.length === 0) return
  const trace = currentTrace()
  await writeOutbox(
    tx,
    messages.map((message, index) => {
      const headers = { ...trace, ...message.headers }
      return outgoingOf(target, { ...message, headers }, `publishInTransaction, message ${index}`)
    }),
  )
}
