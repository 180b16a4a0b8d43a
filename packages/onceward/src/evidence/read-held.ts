import { payload, shownBytesMax } from '../parking/show-parked.ts'
import type { SqlClient } from '../stores/postgres/pool.ts'
import type { Event, Subject } from './explanation.ts'
import type { Marker } from './read-marker.ts'
import { timeOf } from './read-time.ts'

/** What a row of held work knows of its message, whether it is still there or was closed by people. */
export interface HeldFacts {
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
  readonly rows: readonly HeldFacts[]
  /** People had a hand in it: replayed, fixed, skipped, deleted, released. */
  readonly acts: number
}

const known = `h.id::text, h.state::text, h.message_type as "messageType", h.schema_version as "schemaVersion",
  h.correlation_id as "correlationId", h.business_key as "businessKey", h.order_key as "orderKey", h.version::text, h.origin, h.position,
  h.properties`

const now = `${known}, h.first_at, h.last_at, h.seen, h.reason, h.failure_class, h.code, h.attempts, h.run_id, h.due_at, h.lease_until, h.delivery_count,
  octet_length(h.body) as bytes, case when $3 then substring(h.body from 1 for ${shownBytesMax}) end as start`

/** By index where people look; what is stored or waits only by the moment it became due, which for fresh work is the moment of its marker. */
const held = `
  select ${now} from onceward.held h where h.consumer_id = $1 and h.message_id = $2 and h.state in ('parked', 'dead', 'quarantined')
  union all
  select ${now} from (
    select * from onceward.held w where w.consumer_id = $1 and w.due_at between $4::timestamptz and $4::timestamptz + interval '5 seconds'
    order by w.due_at limit 20000) h
  where h.message_id = $2 and h.state in ('stored', 'waiting')`

const closed = `
  select c.held_id::text as id, c.how, c.at, c.actor, c.reason, c.record, octet_length(c.body) as bytes,
    case when $3 then substring(c.body from 1 for ${shownBytesMax}) end as start
  from onceward.closed_held c where c.consumer_id = $1 and c.message_id = $2 limit 100`

const lineage = `
  select held_id::text as id, at, actor, kind, reason, encode(digest_before, 'hex') as before, encode(digest_after, 'hex') as after
  from onceward.lineage where consumer_id = $1 and message_id = $2 order by id limit 100`

const redrives = `
  select rr.held_id::text as id, r.request_id, r.at, r.actor, r.reason, rr.state, rr.why, rr.moved_at, rr.outcome, rr.behind
  from onceward.redrive_row rr join onceward.redrive r on r.id = rr.redrive_id
  where rr.message_id = $2 and r.consumer_id = $1 limit 100`

const actions = `
  select at, by, because, did, held_id::text as id from onceward.held_action where held_id = any($1::bigint[]) limit 1000`
const triage = `
  select at, actor, concat_ws(', ', label, assignee, note) as text, held_id::text as id from onceward.triage where held_id = any($1::bigint[])`
const approvals = `
  select id::text, verb, reason, requested_by, requested_at, approved_by, approved_at, executed_by, executed_at
  from onceward.approval where held_ids && $1::bigint[] limit 100`

/** What is held of it now, what people did to it, and what they closed. */
export async function readHeld(
  client: SqlClient,
  { consumerId, messageId }: Subject,
  marker: Marker | null,
  heldIds: readonly string[],
  withPayload: boolean,
): Promise<HeldStory> {
  const values = [consumerId, messageId]
  const [present, gone, fixes, moves] = await Promise.all([
    client.query(held, [...values, withPayload, marker?.at ?? null]),
    client.query(closed, [...values, withPayload]),
    client.query(lineage, values),
    client.query(redrives, values),
  ])
  const ids = [
    ...new Set([...heldIds, ...[present, gone, fixes, moves].flatMap(({ rows }) => rows.map(row => row.id))]),
  ]
  const byPeople = ids.length === 0 ? [] : await readActs(client, ids)
  const acts = [
    ...gone.rows.map(closedEvent),
    ...fixes.rows.map(fixEvent),
    ...moves.rows.flatMap(moveEvents),
    ...byPeople,
  ]
  return {
    events: [...present.rows.map(heldEvent), ...acts],
    rows: [...(await withTimes(client, present.rows)), ...gone.rows.map(row => recorded(row.record))],
    acts: acts.length,
  }
}

async function readActs(client: SqlClient, ids: readonly string[]): Promise<readonly Event[]> {
  const [did, said, approved] = await Promise.all([
    client.query(actions, [ids]),
    client.query(triage, [ids]),
    client.query(approvals, [ids]),
  ])
  return [
    ...did.rows.map(row => ({
      at: row.at,
      what: row.did,
      by: row.by,
      text: row.because,
      facts: { heldId: row.id },
    })),
    ...said.rows.map(row => ({
      at: row.at,
      what: 'classified',
      by: row.actor,
      text: row.text,
      facts: { heldId: row.id },
    })),
    ...approved.rows.flatMap(approvalEvents),
  ]
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
    text: `${reason === '' ? 'its work is to be done' : reason}${until}`,
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
      ...body(start, bytes),
    },
  }
}

function closedEvent({ id, how, at, actor, reason, bytes, start }: Record<string, unknown>): Event {
  const text = `${reason} (without an effect: ${how === 'rebuilt' ? 'it is in the rebuilt tables' : 'a declared gap'})`
  return {
    at: at as Date,
    what: String(how),
    by: String(actor),
    text,
    facts: { heldId: id, ...body(start, bytes) },
  }
}

function fixEvent({ id, at, actor, kind, reason, before, after }: Record<string, unknown>): Event {
  const text = `${reason} (${String(before).slice(0, 12)} became ${String(after).slice(0, 12)})`
  return {
    at: at as Date,
    what: `fixed ${kind}`,
    by: String(actor),
    text,
    facts: { heldId: id, before, after },
  }
}

function moveEvents(row: Record<string, unknown>): Event[] {
  const { id, request_id, at, actor, reason, state, why, moved_at, outcome, behind } = row
  const facts = { heldId: id, request: request_id, outcome, behind }
  const by = String(actor)
  const asked: Event = { at: at as Date, what: 'replay asked for', by, text: String(reason), facts }
  if (moved_at === null) return [asked]
  const text =
    state === 'left'
      ? String(why)
      : behind
        ? 'given back to workers behind another of its key'
        : 'given back to workers'
  return [asked, { at: moved_at as Date, what: `replay ${state}`, by, text, facts }]
}

function approvalEvents(row: Record<string, unknown>): Event[] {
  const { id, verb, reason, requested_by, requested_at, approved_by, approved_at, executed_by, executed_at } =
    row
  const step = (at: unknown, what: string, by: unknown): Event[] =>
    at === null
      ? []
      : [{ at: at as Date, what, by: String(by), text: String(reason), facts: { approval: id } }]
  return [
    ...step(requested_at, `${verb} requested`, requested_by),
    ...step(approved_at, `${verb} approved`, approved_by),
    ...step(executed_at, `${verb} executed`, executed_by),
  ]
}

/** Read here: headers may hold what the database's own reader of JSON refuses. */
async function withTimes(
  client: SqlClient,
  rows: readonly (HeldFacts & { properties: { readonly timestampMs?: unknown } })[],
): Promise<readonly HeldFacts[]> {
  return Promise.all(
    rows.map(async row => ({ ...row, sentAt: await timeOf(client, row.properties.timestampMs) })),
  )
}

const body = (start: unknown, bytes: unknown) =>
  start instanceof Uint8Array ? { body: payload(start as Buffer, bytes as number) } : {}

/** The record of a closed row has the columns under their own names. */
function recorded(record: Record<string, string | null>): HeldFacts {
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
