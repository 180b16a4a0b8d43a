import type { Destinations } from '../../../ports/enrolment.ts'
import type { Outgoing } from '../../../ports/outgoing.ts'

/** The part of an open transaction that is needed here. */
export interface OutboxTransaction {
  query(text: string, values?: unknown[]): Promise<unknown>
}

const insert = `
  with otherwise as materialized (select kind, onceward.default_destination(kind) as name from unnest($10::text[]) as kind)
  insert into onceward.outbox
    (broker, destination, bucket, exchange, queue, message_id, key, headers, properties, body)
  select broker, coalesce(destination, (select name from otherwise where kind = broker)), onceward.outbox_bucket_of(key),
    exchange, queue, message_id, key, headers, properties, body
  from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::json[], $7::json[], $8::bytea[], $9::text[])
    with ordinality as message (broker, exchange, queue, message_id, key, headers, properties, body, destination, place)
  order by place`

/**
 * One statement for all messages; their ids follow the given order, and a relay publishes the rows of a key
 * in the order of their ids. A message without a destination is sent to the one that `destinations` names for
 * its kind of broker, otherwise to the only one of that kind.
 */
export async function writeOutbox(
  tx: OutboxTransaction,
  messages: readonly Outgoing[],
  destinations: Destinations = {},
): Promise<void> {
  const named = messages.map(({ broker, destination }) => destination ?? destinations[broker] ?? null)
  await tx.query(insert, [
    messages.map(message => message.broker),
    messages.map(message => message.exchange),
    messages.map(message => message.queue),
    messages.map(message => message.messageId),
    messages.map(message => message.key),
    messages.map(message => message.headers),
    messages.map(message => message.properties),
    messages.map(message => message.body),
    named,
    [...new Set(messages.flatMap(({ broker }, index) => (named[index] === null ? [broker] : [])))],
  ])
}
