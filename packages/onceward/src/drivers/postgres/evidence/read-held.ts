import type { SqlClient } from '../pool.ts'
import type { MessageOfConsumer } from './read-marker.ts'

const known = `h.id::text, h.state::text, h.message_type as "messageType", h.schema_version as "schemaVersion",
  h.correlation_id as "correlationId", h.business_key as "businessKey", h.order_key as "orderKey", h.version::text, h.origin, h.position,
  h.properties, h.producer, h.aggregate_id as "aggregateId", h.aggregate_version as "aggregateVersion"`

const now = (
  bytesMax: number,
) => `${known}, h.first_at, h.last_at, h.seen, h.reason, h.failure_class, h.code, h.attempts, h.run_id, h.due_at, h.lease_until, h.leased_at, h.delivery_count, h.mode,
  h.campaign_id::text as campaign,
  octet_length(h.body) as bytes, case when $3 then substring(h.body from 1 for ${bytesMax}) end as start`

/** How many due rows are scanned for unfinished work. */
export const dueMax = 20_000
/**
 * Parked, dead and quarantined rows are found by index. Stored and waiting rows are searched among those due
 * since the marker's time: new work is due at that time, failed work later.
 */
const held = (bytesMax: number) => `
  select ${now(bytesMax)} from onceward.held h where h.consumer_id = $1 and h.message_id = $2 and h.state in ('parked', 'dead', 'quarantined')
  union all
  select ${now(bytesMax)} from (
    select * from onceward.held w where w.consumer_id = $1 and w.due_at >= $4::timestamptz order by w.due_at limit ${dueMax}) h
  where h.message_id = $2 and h.state in ('stored', 'waiting')`

/** How many bytes of a body are read. Null reads none. */
type BodyBytes = number | null

/** `since`: the time of the marker of unfinished work; null otherwise. */
export async function readHeldRows(
  client: SqlClient,
  { consumerId, messageId }: MessageOfConsumer,
  since: Date | null,
  bodyBytesMax: BodyBytes,
): Promise<readonly HeldEvidenceRow[]> {
  const text = held(bodyBytesMax ?? 0)
  return (await client.query(text, [consumerId, messageId, bodyBytesMax !== null, since])).rows
}

const closed = (bytesMax: number) => `
  select c.held_id::text as id, c.closed_as as how, c.at, c.actor, c.reason, c.record, octet_length(c.body) as bytes,
    c.reopened_by::text as "reopenedBy", onceward.is_given_up(c.closed_as, c.reopened_by) as "isGivenUp",
    case when $3 then substring(c.body from 1 for ${bytesMax}) end as start
  from onceward.closed_held c where c.consumer_id = $1 and c.message_id = $2 limit 100`

export async function readClosedRows(
  client: SqlClient,
  { consumerId, messageId }: MessageOfConsumer,
  bodyBytesMax: BodyBytes,
): Promise<readonly ClosedEvidenceRow[]> {
  const text = closed(bodyBytesMax ?? 0)
  return (await client.query(text, [consumerId, messageId, bodyBytesMax !== null])).rows
}

export interface HeldEvidenceRow {
  readonly id: string
  readonly state: string
  readonly messageType: string | null
  readonly schemaVersion: string | null
  readonly correlationId: string | null
  readonly businessKey: string | null
  readonly orderKey: string | null
  readonly version: string | null
  readonly origin: string
  readonly position: string | null
  readonly properties: { readonly timestampMs?: unknown }
  readonly producer: string | null
  readonly aggregateId: string | null
  readonly aggregateVersion: string | null
  readonly first_at: Date
  readonly last_at: Date
  readonly seen: number
  readonly reason: string
  readonly failure_class: string
  readonly code: string
  readonly attempts: number
  readonly run_id: number
  readonly due_at: Date | null
  readonly lease_until: Date | null
  readonly leased_at: Date | null
  readonly delivery_count: number
  readonly mode: string
  readonly campaign: string | null
  readonly bytes: number
  readonly start: Buffer | null
}

export interface ClosedEvidenceRow {
  readonly id: string
  readonly how: string
  readonly at: Date
  readonly actor: string
  readonly reason: string
  /** The columns of the row, under their own names. */
  readonly record: Readonly<Record<string, string | null>>
  readonly bytes: number
  readonly reopenedBy: string | null
  readonly isGivenUp: boolean
  readonly start: Buffer | null
}
