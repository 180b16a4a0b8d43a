import type { SqlPool } from '../pool.ts'

export interface ParkedEvent {
  readonly at: Date
  readonly what: string
  readonly by: string | null
  readonly text: string
}

/** Facts of a held message beyond those of its list row. */
export interface ParkedFacts {
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
  /** SHA-256 of the current bytes. A fix names it, so that it cannot overwrite another fix. */
  readonly bodyDigest: string
}

const factsOf = (bytesMax: number) => `
  select h.consumer_id, h.origin, h.position, h.broker_key as "brokerKey", h.correlation_id as "correlationId",
    h.message_type as "messageType", h.schema_version as "schemaVersion", h.delivery_count as "deliveryCount",
    encode(h.digest, 'hex') as digest, h.error, h.headers, h.properties, encode(sha256(h.body), 'hex') as "bodyDigest",
    substring(h.body from 1 for ${bytesMax}) as start,
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
  union all select coalesce(rr.moved_at, r.at), 'redrive ' || rr.state, r.actor, concat_ws(', ', r.reason, rr.why, rr.outcome)
    from onceward.redrive_row rr join onceward.redrive r on r.id = rr.redrive_id where rr.held_id = $1
  order by 1`

/** `start`: the first bytes of the body, at most `bytesMax`. Null when the row is no longer held. */
export async function readFacts(
  pool: SqlPool,
  id: string,
  bytesMax: number,
): Promise<(ParkedFacts & { readonly consumer_id: number; readonly start: Buffer }) | null> {
  return (await pool.query(factsOf(bytesMax), [id])).rows[0] ?? null
}

export async function readTimeline(
  pool: SqlPool,
  id: string,
  consumerId: number,
  messageId: string | null,
): Promise<readonly ParkedEvent[]> {
  return (await pool.query(timeline, [id, consumerId, messageId])).rows
}

/** The whole body as it is now; null when the row is not held. */
export async function readHeldBody(pool: SqlPool, id: string): Promise<Buffer | null> {
  const { rows } = await pool.query('select body from onceward.held where id = $1', [id])
  return rows[0]?.body ?? null
}

/** Headers and properties as JSON text; empty when the row is not held. */
export async function readStoredHeaders(
  pool: SqlPool,
  id: string,
): Promise<{ readonly headers?: string; readonly properties?: string }> {
  const { rows } = await pool.query(
    'select headers::text, properties::text from onceward.held where id = $1',
    [id],
  )
  return rows[0] ?? {}
}
