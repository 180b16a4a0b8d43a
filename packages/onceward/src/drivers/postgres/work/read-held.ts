import type { HeldState } from '../../../ports/held-record.ts'
import type { SqlPool } from '../pool.ts'

/** Held work as operators see it. */
export interface HeldWork {
  readonly id: string
  readonly consumer: string
  readonly generation: number
  readonly state: HeldState
  /** What happens to it next. `stuck`: its lease expired, and no worker has leased it again. */
  readonly next: 'leased' | 'stuck' | 'due' | 'later' | 'for people'
  readonly messageId: string | null
  readonly key: string | null
  readonly version: string | null
  readonly attempts: number
  /** How often a worker leased it. */
  readonly leases: number
  readonly ageSeconds: number
  /** Time until it is due, or until its lease ends; null for work that needs an operator. */
  readonly dueInSeconds: number | null
  readonly leaseSeconds: number | null
  /** When its last lease began; null if it was never leased. */
  readonly leasedAt: Date | null
  readonly type: string | null
  readonly schemaVersion: string | null
  readonly producer: string | null
  readonly correlationId: string | null
  readonly aggregate: string | null
  readonly aggregateVersion: string | null
  readonly failureClass: string
  readonly code: string
  readonly reason: string
  /** The mode of the run that held it first; workers process it in this mode. */
  readonly mode: string
  /** The campaign that held it; null for live messages. */
  readonly campaign: string | null
}

export interface StoredWork extends HeldWork {
  readonly digest: string
  readonly origin: string
  readonly position: string | null
  readonly businessKey: string | null
  readonly error: string | null
  readonly headers: unknown
  readonly properties: unknown
  readonly bodyBytes: number
  readonly body: Buffer
  readonly holder: string
  readonly history: readonly { number: number; at: Date; failureClass: string; code: string; error: string }[]
  readonly actions: readonly { at: Date; by: string; because: string; did: string }[]
}

const columns = `
  held.id::text, name as consumer, generation, state::text, message_id as "messageId", order_key as key, version::text, attempts,
  epoch as leases, extract(epoch from clock_timestamp() - first_at)::float8 as "ageSeconds",
  extract(epoch from due_at - clock_timestamp())::float8 as "dueInSeconds",
  extract(epoch from lease_until - clock_timestamp())::float8 as "leaseSeconds",
  leased_at as "leasedAt", message_type as type, schema_version as "schemaVersion", producer, correlation_id as "correlationId",
  aggregate_id as aggregate, aggregate_version as "aggregateVersion", failure_class as "failureClass", code, reason, held.mode, campaign_id::text as campaign,
  case when due_at is null then 'for people' when lease_until > clock_timestamp() then 'leased' when lease_until is not null then 'stuck'
    when due_at <= clock_timestamp() then 'due' else 'later' end as next`
const tables = 'onceward.held join onceward.consumer on consumer.id = held.consumer_id'

export interface HeldFilter {
  readonly consumer?: string | undefined
  readonly state?: string | undefined
  readonly countMax: number
}

/** The oldest first. */
export async function readHeldList(
  pool: SqlPool,
  { consumer, state, countMax }: HeldFilter,
): Promise<readonly HeldWork[]> {
  const { rows } = await pool.query(
    `select ${columns} from ${tables} where ($1::text is null or name = $1) and ($2::text is null or state::text = $2)
     order by held.id limit $3`,
    [consumer ?? null, state ?? null, countMax],
  )
  return rows
}

/** Null when there is no such row. */
export async function readHeldRow(pool: SqlPool, id: string): Promise<StoredWork | null> {
  const { rows } = await pool.query(
    `select ${columns}, encode(digest, 'hex') as digest, origin, position, business_key as "businessKey", error, headers, properties,
       octet_length(body) as "bodyBytes", body as bytes, held.consumer_id as "consumerId",
       (select instance from onceward.run where run.id = held.run_id) as holder
     from ${tables} where held.id = $1`,
    [id],
  )
  if (rows.length === 0) return null
  const { bytes, consumerId, ...row } = rows[0]
  const history = await pool.query(
    `select number, at, failure_class as "failureClass", code, error from onceward.attempt
     where consumer_id = $1 and message_id = $2 order by number`,
    [consumerId, row.messageId],
  )
  const actions = await pool.query(
    `select at, actor as by, reason as because, action as did from onceward.held_action where held_id = $1 order by at`,
    [id],
  )
  return { ...row, body: bytes, history: history.rows, actions: actions.rows }
}
