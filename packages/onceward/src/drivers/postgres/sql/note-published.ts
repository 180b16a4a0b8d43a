import type { Enrolment } from '../../../ports/enrolment.ts'
import type { Outgoing } from '../../../ports/outgoing.ts'
import type { SqlClient } from '../pool.ts'

const insert = `
  insert into onceward.note (consumer_id, message_id, code, detail, run_id)
  select $1, sent.cause, 'published ' || sent.id, sent.target, $2
  from unnest($3::text[], $4::text[], $5::text[]) as sent (cause, id, target)
  on conflict do nothing`

/**
 * Records that these messages were written to the outbox, in the same transaction: the outbox row is removed
 * once the broker has confirmed it.
 */
export async function notePublished(
  client: SqlClient,
  { consumerId, runId }: Enrolment,
  messages: readonly Outgoing[],
): Promise<void> {
  await client.query(insert, [
    consumerId,
    runId,
    messages.map(message => message.cause),
    messages.map(message => message.messageId),
    messages.map(({ broker, exchange, queue }) => [broker, exchange, queue].filter(Boolean).join('/')),
  ])
}
