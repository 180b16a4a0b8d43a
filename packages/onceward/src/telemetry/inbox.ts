import { assertUsable } from '../drivers/postgres/migrate.ts'
import type { SqlPool } from '../drivers/postgres/pool.ts'
import { OncewardError } from '../errors.ts'
import type { HeldState } from '../ports/store.ts'

export { heldStates } from '../ports/store.ts'

/** Work kept here, as people see it. */
export interface HeldWork {
  readonly id: string
  readonly consumer: string
  readonly generation: number
  readonly state: HeldState
  /** What becomes of it next. `stuck`: its worker let the lease run out, and nobody has taken it yet. */
  readonly next: 'claimed' | 'stuck' | 'due' | 'later' | 'for people'
  readonly messageId: string | null
  readonly key: string | null
  readonly version: string | null
  readonly attempts: number
  /** How often a worker took it. */
  readonly leases: number
  readonly ageSeconds: number
  /** Until it is due, or its lease ends; null for what only people take up. */
  readonly dueInSeconds: number | null
  readonly leaseSeconds: number | null
  readonly failureClass: string
  readonly code: string
  readonly reason: string
  /** Of the run that held it first: it is worked on in this mode. */
  readonly mode: string
  /** The campaign that held it; null for what came live. */
  readonly campaign: string | null
}

export interface HeldDetails extends HeldWork {
  readonly digest: string
  readonly origin: string
  readonly position: string | null
  readonly businessKey: string | null
  readonly error: string | null
  readonly headers: unknown
  readonly properties: unknown
  readonly bodyBytes: number
  /** The body as text where it is text, else in base64. */
  readonly body: string
  readonly holder: string
  readonly history: readonly { number: number; at: Date; failureClass: string; code: string; error: string }[]
  readonly actions: readonly { at: Date; by: string; because: string; did: string }[]
}

const columns = `
  held.id::text, name as consumer, generation, state::text, message_id as "messageId", order_key as key, version::text, attempts,
  epoch as leases, extract(epoch from clock_timestamp() - first_at)::float8 as "ageSeconds",
  extract(epoch from due_at - clock_timestamp())::float8 as "dueInSeconds",
  extract(epoch from lease_until - clock_timestamp())::float8 as "leaseSeconds",
  failure_class as "failureClass", code, reason, held.mode, campaign_id::text as campaign,
  case when due_at is null then 'for people' when lease_until > clock_timestamp() then 'claimed' when lease_until is not null then 'stuck'
    when due_at <= clock_timestamp() then 'due' else 'later' end as next`
const tables = 'onceward.held join onceward.consumer on consumer.id = held.consumer_id'

export interface InboxFilter {
  readonly consumer?: string | undefined
  readonly state?: string | undefined
  readonly countMax: number
}

/** The oldest first. */
export async function listHeld(
  pool: SqlPool,
  { consumer, state, countMax }: InboxFilter,
): Promise<readonly HeldWork[]> {
  await assertUsable(pool)
  const { rows } = await pool.query(
    `select ${columns} from ${tables} where ($1::text is null or name = $1) and ($2::text is null or state::text = $2)
     order by held.id limit $3`,
    [consumer ?? null, state ?? null, countMax],
  )
  return rows
}

export async function showHeld(pool: SqlPool, id: string): Promise<HeldDetails> {
  await assertUsable(pool)
  const { rows } = await pool.query(
    `select ${columns}, encode(digest, 'hex') as digest, origin, position, business_key as "businessKey", error, headers, properties,
       octet_length(body) as "bodyBytes", body as bytes, held.consumer_id as "consumerId",
       (select instance from onceward.run where run.id = held.run_id) as holder
     from ${tables} where held.id = $1`,
    [id],
  )
  if (rows.length === 0) throw nothingLike(id)
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
  return { ...row, body: readable(bytes), history: history.rows, actions: actions.rows }
}

export interface Release {
  readonly id: string
  /** Typed again by the person, so that no slip releases another consumer's work. */
  readonly consumer: string
  readonly because: string
  /** How often it had been claimed when it was looked at; without it, what stands there now. */
  readonly leases?: number | undefined
}

/**
 * Makes work due now. A claim is ended, and its worker fenced; a wait or a delay is cut short; what is parked
 * is tried once more, together with everything of its key, in order, as far as it may go. Quarantined work
 * stays, and only its key is freed. Records who and why in the same transaction; refusals are in the audit
 * too.
 */
export async function releaseHeld(
  pool: SqlPool,
  { id, consumer, because, leases }: Release,
): Promise<{ readonly released: number; readonly from: string }> {
  await assertUsable(pool)
  const { rows } = await pool.query(
    `select onceward.release_held($1, $2, coalesce($3, (select epoch from onceward.held where id = $2)), $4) as answer`,
    [consumer, id, leases ?? null, because],
  )
  const { ok, why, released, from } = rows[0].answer
  if (!ok) throw refused(why)
  return { released, from }
}

function readable(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  return Buffer.from(text, 'utf8').equals(bytes) ? text : bytes.toString('base64')
}

function nothingLike(id: string): OncewardError {
  return refused(`There is no held work with number ${id}; it may be done by now.`)
}

function refused(why: string): OncewardError {
  return new OncewardError('usage', `${why} Nothing was changed; see "onceward work list".`)
}
