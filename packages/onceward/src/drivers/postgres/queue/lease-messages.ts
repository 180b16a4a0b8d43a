import { begin, pipelined } from '../in-transaction.ts'
import { noJit } from '../no-jit.ts'
import type { SqlPool } from '../pool.ts'

export interface LeaseRequest {
  readonly queueId: number
  readonly leaseId: string
  /** The epoch of the lease row: a statement with an earlier epoch leases nothing. */
  readonly epoch: number
  readonly keyOrder: boolean
  /** Scan after this id only; '0' scans from the start. Ignored with `keyOrder`. */
  readonly afterId: string
  readonly countMax: number
  readonly bytesMax: number
  /** One message may exceed `bytesMax`: true while no other is held. */
  readonly oversized: boolean
}

export interface LeasedRow {
  readonly id: string
  readonly deliveries: number
  readonly message_id: string | null
  readonly key: string | null
  /** JSON text; null for `{}`, which is never parsed. */
  readonly headers: string | null
  readonly properties: string | null
  readonly body: Buffer
}

/**
 * Leases the next messages to a subscription: at most `countMax`, in id order, by writing the lease into each
 * row. Rejected: listing the ids as bigint[] in the lease row, which updates no message (server time with
 * settling 10.3 us a message against 11.2 here). A skipped lock would then no longer show that the row is
 * taken. All statements of a queue would have to wait for each other, and the fence in `settle` would depend
 * on an array instead of the row.
 */
export async function leaseMessages(pool: SqlPool, request: LeaseRequest): Promise<LeasedRow[]> {
  const { queueId, leaseId, epoch, keyOrder, afterId, countMax, bytesMax, oversized } = request
  const values = [queueId, leaseId, epoch, countMax, bytesMax, oversized]
  const { rows } = keyOrder
    ? await pipelined(pool, `${beginLease}; ${serialise(queueId)}`, leaseInOrder, values)
    : await pipelined(pool, beginLease, leaseNext, [...values, afterId])
  return (rows as LeasedRow[]).sort((a, b) => Number(a.id) - Number(b.id))
}

/**
 * A lease lost in a server crash is a message delivered twice, which the inbox recognises, so the lease does
 * not wait for the disk. The planner settings keep the scan on the primary key, even with misleading
 * statistics: analysed while every row was leased, the planner would read and sort the whole backlog for each
 * statement.
 */
const beginLease = `${begin}; set local synchronous_commit = off;
  set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_sort = off; ${noJit}`

/**
 * A separate statement, before the snapshot of the lease is taken: the lease then sees the commits of the
 * last subscription, instead of finding the head of every key locked and taking nothing. `gap` keeps the
 * order even without this lock.
 */
const serialise = (queueId: number) => `select pg_advisory_xact_lock(hashtext('onceward.queue'), ${queueId})`

/**
 * Locking the lease row first makes leasing and takeover exclude each other: with a lost lease, no message is
 * leased.
 */
const mine = `mine as materialized (
  select from onceward.queue_lease where id = $2 and epoch = $3 and until > clock_timestamp() for update)`

const lease = `
taken as materialized (
  select ctid, id from (
    select ctid, id, bytes, sum(bytes) over (order by id rows unbounded preceding) as total from free) f
  where total <= $5 or (total = bytes and $6)),
high as (
  update onceward.queue_lease set high_id = greatest(high_id, (select max(id) from taken))
  where id = $2 and exists (select from taken))
update onceward.queue_message set lease_id = $2, deliveries = deliveries + 1
where ctid = any (array(select ctid from taken))
returning id, deliveries, message_id, key, nullif(headers::text, '{}') as headers,
  nullif(properties::text, '{}') as properties, body`

const leaseNext = `
with ${mine},
free as materialized (
  select ctid, id, octet_length(body) as bytes from onceward.queue_message
  where queue_id = $1 and id > $7 and lease_id is null and exists (select from mine)
  order by id limit $4 for update skip locked),
${lease}`

/**
 * Always from the start: behind a cursor an earlier message of a key could have become free while a later one
 * is taken. `blocked` are the keys of other subscriptions, complete because no lease reaches past its
 * high_id. `gap` is an earlier message of a key that another transaction (such as an open transaction of an
 * operator) has locked: later messages of that key wait for it.
 */
const leaseInOrder = `
with ${mine},
blocked as materialized (
  select distinct key from onceward.queue_message
  where queue_id = $1 and lease_id <> $2 and key is not null
    and id <= (select max(high_id) from onceward.queue_lease where queue_id = $1 and id <> $2)),
head as materialized (
  select ctid, id, key, octet_length(body) as bytes from onceward.queue_message
  where queue_id = $1 and lease_id is null and exists (select from mine)
    and (key is null or key not in (select key from blocked))
  order by id limit $4),
locked as materialized (
  select id from onceward.queue_message
  where ctid = any (array(select ctid from head)) and lease_id is null for update skip locked),
gap as materialized (
  select key, min(id) as id from head where key is not null and id not in (select id from locked) group by key),
free as materialized (
  select * from head where id in (select id from locked)
    and not exists (select from gap where gap.key = head.key and gap.id < head.id)),
${lease}`
