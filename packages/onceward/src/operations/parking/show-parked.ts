import { assertUsable } from '../../drivers/postgres/migrate.ts'
import type { SqlPool } from '../../drivers/postgres/pool.ts'
import { refused } from './act.ts'
import { listParked, type ParkedRow } from './list-parked.ts'

export interface ParkedEvent {
  readonly at: Date
  readonly what: string
  readonly by: string | null
  readonly text: string
}

/** Everything that is known of one message that waits for people. */
export interface ParkedDetails extends ParkedRow {
  readonly origin: string
  readonly position: string | null
  readonly brokerKey: string | null
  readonly correlationId: string | null
  readonly messageType: string | null
  readonly schemaVersion: string | null
  readonly deliveryCount: number
  readonly digest: string
  readonly error: string | null
  readonly headers: unknown
  readonly properties: unknown
  readonly handler: string
  readonly firstFailureAt: Date
  readonly lastFailureAt: Date
  /** SHA-256 of the bytes as they are now; a fix names it, so that nobody overwrites another's. */
  readonly bodyDigest: string
  readonly body: Payload
  readonly timeline: readonly ParkedEvent[]
}

/** The first bytes: as text where they are text, else in hexadecimal. */
export interface Payload {
  readonly as: 'text' | 'hex'
  readonly content: string
  readonly bytes: number
  readonly whole: boolean
}

export const shownBytesMax = 64 * 1024

const facts = `
  select h.consumer_id, h.origin, h.position, h.broker_key as "brokerKey", h.correlation_id as "correlationId",
    h.message_type as "messageType", h.schema_version as "schemaVersion", h.delivery_count as "deliveryCount",
    encode(h.digest, 'hex') as digest, h.error, h.headers, h.properties, encode(sha256(h.body), 'hex') as "bodyDigest",
    substring(h.body from 1 for ${shownBytesMax}) as start,
    (select handler_version from onceward.run where run.id = h.run_id) as handler,
    least(h.first_at, (select min(a.at) from onceward.attempt a where a.consumer_id = h.consumer_id and a.message_id = h.message_id))
      as "firstFailureAt",
    greatest(h.first_at, (select max(a.at) from onceward.attempt a where a.consumer_id = h.consumer_id and a.message_id = h.message_id))
      as "lastFailureAt"
  from onceward.held h where h.id = $1`

const timeline = `
  select a.at, 'attempt ' || a.number as what, r.instance as by, concat_ws(' ', a.failure_class, a.code, a.error) as text
  from onceward.attempt a left join onceward.run r on r.id = a.run_id where a.consumer_id = $2 and a.message_id = $3
  union all select h.first_at, h.state::text, null, h.reason from onceward.held h where h.id = $1
  union all select at, action, actor, reason from onceward.held_action where held_id = $1
  union all select at, 'classified', actor, concat_ws(', ', label, assignee, note) from onceward.triage where held_id = $1
  union all select at, 'fixed ' || kind, actor, reason || ' (' || encode(digest_before, 'hex') || ' to ' || encode(digest_after, 'hex') || ')'
    from onceward.fix where held_id = $1
  union all select coalesce(rr.moved_at, r.at), 'replay ' || rr.state, r.actor, concat_ws(', ', r.reason, rr.why, rr.outcome)
    from onceward.redrive_row rr join onceward.redrive r on r.id = rr.redrive_id where rr.held_id = $1
  order by 1`

export async function showParked(pool: SqlPool, id: string): Promise<ParkedDetails> {
  const [row] = await listParked(pool, { ids: [id], countMax: 1 })
  if (row === undefined) throw refused(`Nothing with number ${id} waits for people; it may be done by now.`)
  const found = await pool.query(facts, [id])
  if (found.rows.length === 0) throw refused(`Number ${id} was taken up a moment ago.`)
  const { consumer_id, start, ...rest } = found.rows[0]
  const events = await pool.query(timeline, [id, consumer_id, row.messageId])
  return { ...row, ...rest, body: payload(start, row.bodyBytes), timeline: events.rows }
}

/** The bytes whole, as they are now. */
export async function readBody(pool: SqlPool, id: string): Promise<Buffer> {
  await assertUsable(pool)
  const { rows } = await pool.query('select body from onceward.held where id = $1', [id])
  if (rows.length === 0) throw refused(`Nothing with number ${id} is held.`)
  return rows[0].body
}

/** Cut in the middle of a character, text stays text. */
export function payload(start: Buffer, bytes: number): Payload {
  const whole = start.length === bytes
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  try {
    return { as: 'text', content: decoder.decode(start, { stream: !whole }), bytes, whole }
  } catch {
    return { as: 'hex', content: start.toString('hex'), bytes, whole }
  }
}
