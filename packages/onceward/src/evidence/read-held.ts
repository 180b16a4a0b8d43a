import type { SqlClient } from '../drivers/postgres/pool.ts'
import { payload, shownBytesMax } from '../operations/parking/show-parked.ts'
import type { Event, Subject } from './explanation.ts'
import { readActs } from './read-acts.ts'
import type { Marker } from './read-marker.ts'
import { timeOf } from './read-time.ts'

/** What a row of held work knows of its message, whether it is still there or was closed by people. */
export interface HeldTrace {
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
  /** When the broker says it was sent. */
  readonly sentAt: Date | null
}

export interface HeldStory {
  readonly events: readonly Event[]
  readonly rows: readonly HeldTrace[]
  readonly limits: readonly string[]
  /** People had a hand in it: replayed, fixed, skipped, deleted, released. */
  readonly acts: number
}

const known = `h.id::text, h.state::text, h.message_type as "messageType", h.schema_version as "schemaVersion",
  h.correlation_id as "correlationId", h.business_key as "businessKey", h.order_key as "orderKey", h.version::text, h.origin, h.position,
  h.properties`

const now = `${known}, h.first_at, h.last_at, h.seen, h.reason, h.failure_class, h.code, h.attempts, h.run_id, h.due_at, h.lease_until, h.delivery_count, h.mode,
  h.campaign_id::text as campaign,
  octet_length(h.body) as bytes, case when $3 then substring(h.body from 1 for ${shownBytesMax}) end as start`

/** Rows of others that are gone through for what is not done. */
const dueMax = 20_000
const notFound = `Its row was not among the ${dueMax} that become due after its marker: see "onceward work list".`

/**
 * By index where people look. What is stored or waits is looked for among what becomes due from the moment of
 * its marker on: fresh work at that very moment, what failed and is tried again at any time after it.
 */
const held = `
  select ${now} from onceward.held h where h.consumer_id = $1 and h.message_id = $2 and h.state in ('parked', 'dead', 'quarantined')
  union all
  select ${now} from (
    select * from onceward.held w where w.consumer_id = $1 and w.due_at >= $4::timestamptz order by w.due_at limit ${dueMax}) h
  where h.message_id = $2 and h.state in ('stored', 'waiting')`

const unfinished: ReadonlySet<string> = new Set(['stored', 'waiting'])

const closed = `
  select c.held_id::text as id, c.closed_as as how, c.at, c.actor, c.reason, c.record, octet_length(c.body) as bytes,
    c.reopened_by::text as "reopenedBy", onceward.is_given_up(c.closed_as, c.reopened_by) as "isGivenUp",
    case when $3 then substring(c.body from 1 for ${shownBytesMax}) end as start
  from onceward.closed_held c where c.consumer_id = $1 and c.message_id = $2 limit 100`

/** What is held of it now, what people did to it, and what they closed. */
export async function readHeld(
  client: SqlClient,
  subject: Subject,
  marker: Marker | null,
  heldIds: readonly string[],
  withPayload: boolean,
): Promise<HeldStory> {
  const values = [subject.consumerId, subject.messageId]
  const since = marker !== null && unfinished.has(marker.status) ? marker.at : null
  const [present, gone] = await Promise.all([
    client.query(held, [...values, withPayload, since]),
    client.query(closed, [...values, withPayload]),
  ])
  const ids = [...heldIds, ...[...present.rows, ...gone.rows].map(row => row.id)]
  const acts = [...gone.rows.map(closedEvent), ...(await readActs(client, subject, ids))]
  const isMissed = since !== null && present.rows.length === 0
  return {
    events: [...present.rows.map(heldEvent), ...acts],
    limits: isMissed ? [notFound] : [],
    rows: [...(await withTimes(client, present.rows)), ...gone.rows.map(row => recorded(row.record))],
    acts: acts.length,
  }
}

function heldEvent(row: Record<string, unknown>): Event {
  const {
    id,
    state,
    first_at,
    last_at,
    seen,
    reason,
    failure_class,
    code,
    attempts,
    due_at,
    lease_until,
    delivery_count,
    mode,
    campaign,
    bytes,
    start,
  } = row
  const until =
    lease_until !== null
      ? ', a worker has it'
      : due_at !== null
        ? ', a worker takes it up'
        : ', until a person decides'
  return {
    at: first_at as Date,
    what: `held as ${state}`,
    text: `${reason === '' ? 'its work is to be done' : reason}${until}${campaign === null ? '' : `, in the mode of campaign ${campaign} (${mode})`}`,
    runId: row.run_id as number,
    facts: {
      heldId: id,
      failureClass: failure_class,
      code,
      attempts,
      seen,
      lastAt: last_at,
      dueAt: due_at,
      leaseUntil: lease_until,
      deliveryCount: delivery_count,
      mode,
      campaign,
      ...body(start, bytes),
    },
  }
}

function closedEvent(row: Record<string, unknown>): Event {
  const { id, how, at, actor, reason, bytes, start } = row
  const text = `${reason} (${closedAs(row)})`
  return {
    at: at as Date,
    what: String(how),
    by: String(actor),
    text,
    facts: {
      heldId: id,
      ...(row.reopenedBy !== null && { reopenedBy: row.reopenedBy }),
      ...body(start, bytes),
    },
  }
}

function closedAs({ how, isGivenUp, reopenedBy }: Record<string, unknown>): string {
  if (how === 'rebuilt') return 'without an effect: it is in the rebuilt tables'
  if (isGivenUp) return 'without an effect: a declared gap, which campaigns leave as it is'
  return `without an effect until campaign ${reopenedBy} took it up, approved for that`
}

/** Read here: headers may hold what the database's own reader of JSON refuses. */
async function withTimes(
  client: SqlClient,
  rows: readonly (HeldTrace & { properties: { readonly timestampMs?: unknown } })[],
): Promise<readonly HeldTrace[]> {
  return Promise.all(
    rows.map(async row => ({ ...row, sentAt: await timeOf(client, row.properties.timestampMs) })),
  )
}

const body = (start: unknown, bytes: unknown) =>
  start instanceof Uint8Array ? { body: payload(start as Buffer, bytes as number) } : {}

/** The record of a closed row has the columns under their own names. */
function recorded(record: Record<string, string | null>): HeldTrace {
  return {
    id: String(record.id),
    state: String(record.state),
    messageType: record.message_type ?? null,
    schemaVersion: record.schema_version ?? null,
    correlationId: record.correlation_id ?? null,
    businessKey: record.business_key ?? null,
    orderKey: record.order_key ?? null,
    version: record.version ?? null,
    origin: String(record.origin),
    position: record.position ?? null,
    sentAt: null,
  }
}
