import { assertPublishTarget } from '../../contract/assert-publish-target.ts'
import type { PublishRequest, PublishTarget } from '../../contract/publish-target.ts'
import { type OutboxTransaction, writeOutbox } from '../../drivers/postgres/sql/write-outbox.ts'
import { encode, outgoingOf } from '../../engine/batch/buffer-messages.ts'
import { currentTrace } from '../../telemetry/traces.ts'

/**
 * A message from a producer that is not a consumer. Only the producer knows which messages are the same, so
 * it supplies the id.
 */
export interface OutboxMessage extends PublishRequest {
  id: string
}

/**
 * Writes messages to the outbox inside your own transaction, in one statement. They are published only if the
 * transaction commits. They carry the current trace context, unless their headers name another. `tx` is any
 * object with `query(text, values)` on that transaction, such as a `pg` client after BEGIN. A relay must run:
 * `onceward relay`.
 */
export async function publishInTransaction(
  tx: OutboxTransaction,
  target: PublishTarget,
  messages: readonly OutboxMessage[],
): Promise<void> {
  assertPublishTarget(target)
  if (messages.length === 0) return
  const trace = currentTrace()
  const ready = await Promise.all(
    messages.map(async (message, index) => {
      const headers = { ...trace, ...message.headers }
      const encoded = await encode(target, { ...message, headers })
      return outgoingOf(target, encoded, `publishInTransaction, message ${index}`)
    }),
  )
  await writeOutbox(tx, ready)
}
