import {
  type ClosedEvidenceRow,
  dueMax,
  type HeldEvidenceRow,
  readClosedRows,
  readHeldRows,
} from '../drivers/postgres/evidence/read-held.ts'
import type { Marker } from '../drivers/postgres/evidence/read-marker.ts'
import type { SqlClient } from '../drivers/postgres/pool.ts'
import { payload, shownBytesMax } from '../operations/parking/show-parked.ts'
import type { Event, Subject } from './explanation.ts'
import { readActs } from './read-acts.ts'
import { timeOf } from './read-time.ts'

/** A held row of the message, present or closed. */
export interface HeldTrace
  extends Pick<
    HeldEvidenceRow,
    | 'id'
    | 'state'
    | 'messageType'
    | 'schemaVersion'
    | 'correlationId'
    | 'businessKey'
    | 'orderKey'
    | 'version'
    | 'origin'
    | 'position'
    | 'producer'
    | 'aggregateId'
    | 'aggregateVersion'
  > {
  /** The broker's timestamp. */
  readonly sentAt: Date | null
}

export interface HeldStory {
  readonly events: readonly Event[]
  readonly rows: readonly HeldTrace[]
  readonly limits: readonly string[]
  /** Acts of operators: redriven, fixed, skipped, deleted, released. */
  readonly acts: number
}

const notFound = `Its row was not among the first ${dueMax} that become due after its marker: see "onceward work list".`

const unfinished: ReadonlySet<string> = new Set(['stored', 'waiting'])

/** Held rows of the message, acts of operators, and closed rows. */
export async function readHeld(
  client: SqlClient,
  subject: Subject,
  marker: Marker | null,
  heldIds: readonly string[],
  withPayload: boolean,
): Promise<HeldStory> {
  const bytesMax = withPayload ? shownBytesMax : null
  const since = marker !== null && unfinished.has(marker.status) ? marker.at : null
  const [present, gone] = await Promise.all([
    readHeldRows(client, subject, since, bytesMax),
    readClosedRows(client, subject, bytesMax),
  ])
  const ids = [...heldIds, ...[...present, ...gone].map(row => row.id)]
  const acts = [...gone.map(closedEvent), ...(await readActs(client, subject, ids))]
  const isMissed = since !== null && present.length === 0
  return {
    events: [...present.map(heldEvent), ...acts],
    limits: isMissed ? [notFound] : [],
    rows: [...(await withTimes(client, present)), ...gone.map(row => recorded(row.record))],
    acts: acts.length,
  }
}

function heldEvent(row: HeldEvidenceRow): Event {
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
    leased_at,
    delivery_count,
    mode,
    campaign,
    bytes,
    start,
  } = row
  const until =
    lease_until !== null
      ? ', leased by a worker'
      : due_at !== null
        ? ', due for a worker'
        : ', until an operator decides'
  return {
    at: first_at,
    what: `held as ${state}`,
    text: `${reason === '' ? 'its work is not done yet' : reason}${until}${campaign === null ? '' : `, in the mode of campaign ${campaign} (${mode})`}`,
    runId: row.run_id,
    facts: {
      heldId: id,
      failureClass: failure_class,
      code,
      attempts,
      seen,
      lastAt: last_at,
      dueAt: due_at,
      leaseUntil: lease_until,
      leasedAt: leased_at,
      deliveryCount: delivery_count,
      mode,
      campaign,
      ...body(start, bytes),
    },
  }
}

function closedEvent(row: ClosedEvidenceRow): Event {
  const { id, how, at, actor, reason, bytes, start } = row
  const text = `${reason} (${closedAs(row)})`
  return {
    at,
    what: how,
    by: actor,
    text,
    facts: {
      heldId: id,
      ...(row.reopenedBy !== null && { reopenedBy: row.reopenedBy }),
      ...body(start, bytes),
    },
  }
}

function closedAs({ how, isGivenUp, reopenedBy }: ClosedEvidenceRow): string {
  if (how === 'rebuilt') return 'without an effect: it is in the rebuilt tables'
  if (isGivenUp) return 'without an effect: given up, and campaigns skip it'
  return `without an effect until campaign ${reopenedBy} included it, with approval`
}

/** Read here: PostgreSQL's JSON parser refuses some values that headers may hold. */
async function withTimes(client: SqlClient, rows: readonly HeldEvidenceRow[]): Promise<readonly HeldTrace[]> {
  return Promise.all(
    rows.map(async row => ({ ...row, sentAt: await timeOf(client, row.properties.timestampMs) })),
  )
}

const body = (start: Buffer | null, bytes: number) => (start === null ? {} : { body: payload(start, bytes) })

function recorded(record: ClosedEvidenceRow['record']): HeldTrace {
  return {
    id: String(record.id),
    state: String(record.state),
    messageType: record.message_type ?? null,
    schemaVersion: record.schema_version ?? null,
    correlationId: record.correlation_id ?? null,
    businessKey: record.business_key ?? null,
    orderKey: record.order_key ?? null,
    producer: record.producer ?? null,
    aggregateId: record.aggregate_id ?? null,
    aggregateVersion: record.aggregate_version ?? null,
    version: record.version ?? null,
    origin: String(record.origin),
    position: record.position ?? null,
    sentAt: null,
  }
}
