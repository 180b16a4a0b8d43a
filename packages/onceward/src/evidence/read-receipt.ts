import { type ReceiptRow, readReceiptRow } from '../drivers/postgres/evidence/read-receipt.ts'
import type { SqlClient } from '../drivers/postgres/pool.ts'
import { payload, shownBytesMax } from '../operations/parking/show-parked.ts'
import type { ReceiptFacts } from '../ports/receipts.ts'
import type { Event, Subject } from './explanation.ts'
import { eventTime, timeOf } from './read-time.ts'

/** What was kept of the message when it arrived. */
export interface ReceiptStory {
  readonly facts: Partial<ReceiptFacts>
  readonly at: Date
  readonly runId: number
  /** The broker's timestamp. */
  readonly sentAt: Date | null
  /** By the message itself. */
  readonly occurredAt: Date | null
  readonly event: Event
}

export async function readReceipt(
  client: SqlClient,
  subject: Subject,
  withPayload: boolean,
): Promise<ReceiptStory | null> {
  const row = await readReceiptRow(client, subject, withPayload ? shownBytesMax : null)
  if (row === null) return null
  const facts = row.facts as Partial<ReceiptFacts>
  const sentAt = await timeOf(client, facts.sentMs)
  const occurredAt = facts.occurredAtMs == null ? null : await eventTime(client, facts.occurredAtMs)
  return { facts, at: row.at, runId: row.runId, sentAt, occurredAt, event: receiptEvent(row) }
}

function receiptEvent({ at, runId, facts, digest, bytes, start }: ReceiptRow): Event {
  const kept = Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== null))
  const { type, schemaVersion, producer, origin, position } = facts
  const named = [
    type ?? 'a message',
    ...(schemaVersion == null ? [] : [`version ${schemaVersion}`]),
    ...(producer == null ? [] : [`by ${producer}`]),
    `from ${position ?? origin}`,
  ].join(' ')
  const body = start === null || bytes === null ? {} : { body: payload(start, bytes) }
  return { at, what: 'received', text: named, runId, facts: { ...kept, digest, bytes, ...body } }
}
