import { OncewardError } from '../errors.ts'
import { inTransaction } from '../stores/postgres/in-transaction.ts'
import { assertUsable } from '../stores/postgres/migrate.ts'
import type { SqlClient, SqlPool } from '../stores/postgres/pool.ts'

/** Work kept here, as people see it. */
export interface HeldWork {
  readonly id: string
  readonly consumer: string
  readonly generation: number
  readonly state: 'stored' | 'waiting' | 'parked' | 'dead' | 'quarantined'
  /** What becomes of it next. `stuck`: its worker let the lease run out, and nobody has taken it yet. */
  readonly next: 'claimed' | 'stuck' | 'due' | 'later' | 'for people'
  readonly messageId: string | null
  readonly key: string | null
  readonly version: string | null
  readonly attempts: number
  /** How often a worker took it. */
  readonly claims: number
  readonly ageSeconds: number
  /** Until it is due, or its lease ends; null for what only people take up. */
  readonly dueInSeconds: number | null
  readonly leaseSeconds: number | null
  readonly failureClass: string
  readonly code: string
  readonly reason: string
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
  epoch as claims, extract(epoch from clock_timestamp() - first_at)::float8 as "ageSeconds",
  extract(epoch from due_at - clock_timestamp())::float8 as "dueInSeconds",
  extract(epoch from lease_until - clock_timestamp())::float8 as "leaseSeconds",
  failure_class as "failureClass", code, reason,
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
    `select at, by, because, did from onceward.held_action where held_id = $1 order by at`,
    [id],
  )
  return { ...row, body: readable(bytes), history: history.rows, actions: actions.rows }
}

export interface Release {
  readonly id: string
  /** Typed again by the person, so that no slip releases another consumer's work. */
  readonly consumer: string
  readonly by: string
  readonly because: string
}

/**
 * Makes work due now. A claim is ended, and its worker fenced; a wait or a delay is cut short; what is parked is tried once
 * more, together with everything of its key, in order. Quarantined work stays, and only its key is freed. Records who and why in the
 * same transaction.
 */
export async function releaseHeld(
  pool: SqlPool,
  { id, consumer, by, because }: Release,
): Promise<{ readonly released: number; readonly from: string }> {
  await assertUsable(pool)
  if (because.trim() === '') throw refused('Say why it is released.')
  return inTransaction(pool, async client => {
    const { rows } = await client.query(
      `select state::text, order_key as key, held.consumer_id as "consumerId", name, exists (
         select from onceward.run where run.consumer_id = held.consumer_id and instance like '% worker') as worked
       from ${tables} where held.id = $1 for update of held`,
      [id],
    )
    const [found] = rows
    if (found === undefined) throw nothingLike(id)
    if (found.name !== consumer) throw refused(`Number ${id} is not of consumer "${consumer}".`)
    const blocks = found.state === 'quarantined' && found.key !== null
    if (found.state === 'dead' || (found.state === 'quarantined' && !blocks))
      throw refused(`Number ${id} is ${found.state}: it is not safe to try it again by itself.`)
    if (!found.worked)
      throw refused(
        `Consumer "${consumer}" has no workers that could take it up (inbox.mode is not 'stored').`,
      )
    const freed =
      found.state === 'parked' || blocks ? await unpark(client, id, found) : await makeDue(client, id)
    const ids = blocks ? [id, ...freed] : freed
    await client.query(
      `insert into onceward.held_action (held_id, by, because, did) select unnest($1::bigint[]), $2, $3, 'released from ' || $4`,
      [ids, by, because, found.state],
    )
    return { released: freed.length, from: found.state }
  })
}

/** The epoch is raised: whoever has it now finishes nothing. */
async function makeDue(client: SqlClient, id: string): Promise<string[]> {
  await client.query(
    `update onceward.held set due_at = clock_timestamp(), lease_until = null, epoch = epoch + 1 where id = $1`,
    [id],
  )
  return [id]
}

/** The blocked key goes first: who is about to park behind it is waited for, and its row is then among those released. */
async function unpark(
  client: SqlClient,
  id: string,
  { key, consumerId }: { readonly key: string | null; readonly consumerId: number },
): Promise<string[]> {
  if (key !== null)
    await client.query('delete from onceward.blocked_key where consumer_id = $1 and key = $2', [
      consumerId,
      key,
    ])
  const { rows } = await client.query(
    `with freed as (
       update onceward.held set state = 'stored', due_at = clock_timestamp(), last_at = clock_timestamp()
       where consumer_id = $1 and state = 'parked' and (id = $2 or order_key = $3) returning id, message_id),
     marked as (
       update onceward.inbox i set status = 'stored' from freed
       where i.consumer_id = $1 and i.message_id = freed.message_id)
     select id::text from freed`,
    [consumerId, id, key],
  )
  return rows.map(row => row.id)
}

function readable(bytes: Buffer): string {
  const text = bytes.toString('utf8')
  return Buffer.from(text, 'utf8').equals(bytes) ? text : bytes.toString('base64')
}

function nothingLike(id: string): OncewardError {
  return refused(`There is no held work with number ${id}; it may be done by now.`)
}

function refused(why: string): OncewardError {
  return new OncewardError('usage', `${why} Nothing was changed; see "onceward inbox list".`)
}
