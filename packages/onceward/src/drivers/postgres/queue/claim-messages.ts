import { begin, pipelined } from '../in-transaction.ts'
import type { SqlPool } from '../pool.ts'

export interface ClaimRequest {
  readonly queueId: number
  readonly leaseId: string
  /** As the lease row has it: a claim of an earlier epoch takes nothing. */
  readonly epoch: number
  readonly keyOrder: boolean
  /** Look behind this id only; '0' looks everywhere. Ignored where order is kept. */
  readonly afterId: string
  readonly countMax: number
  readonly bytesMax: number
  /** One message may be larger than `bytesMax`: true while nothing else is held. */
  readonly oversized: boolean
}

export interface ClaimedRow {
  readonly id: string
  readonly deliveries: number
  readonly message_id: string | null
  readonly key: string | null
  /** JSON text; null for `{}`, which is then never parsed. */
  readonly headers: string | null
  readonly properties: string | null
  readonly body: Buffer
}

/**
 * Leases the next messages to a subscription: at most `countMax`, in id order, by writing the lease into each
 * row. Rejected: listing the ids as bigint[] in the lease row, which writes no message twice (server time
 * with settling 10.3 us a message against 11.2 here): a skipped lock then no longer tells a rival that the
 * row is taken, so all claims of a queue would have to wait for each other, and the fence in `settle` would
 * hang on an array instead of the row itself.
 */
export async function claimMessages(pool: SqlPool, request: ClaimRequest): Promise<ClaimedRow[]> {
  const { queueId, leaseId, epoch, keyOrder, afterId, countMax, bytesMax, oversized } = request
  const values = [queueId, leaseId, epoch, countMax, bytesMax, oversized]
  const { rows } = keyOrder
    ? await pipelined(pool, `${beginClaim}; ${serialise(queueId)}`, orderedClaim, values)
    : await pipelined(pool, beginClaim, claim, [...values, afterId])
  return (rows as ClaimedRow[]).sort((a, b) => Number(a.id) - Number(b.id))
}

/**
 * A lease lost in a server crash is a message handed out twice, which the inbox recognises: no need to wait
 * for the disk. The planner settings keep the walk along the primary key whatever the statistics of a busy
 * minute say: analysed while every row was leased, it would read and sort the whole backlog for each claim.
 */
const beginClaim = `${begin}; set local synchronous_commit = off;
  set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_sort = off`

/**
 * In a statement of its own, before the claim's snapshot is taken: the claim then sees what the last claimer
 * committed, instead of finding the head of every key locked and taking nothing. Order itself is kept by
 * `gap`, also without this.
 */
const serialise = (queueId: number) => `select pg_advisory_xact_lock(hashtext('onceward.queue'), ${queueId})`

/**
 * Holding the lease row first makes claim and takeover exclude each other: a claim on a lost lease takes
 * nothing.
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

const claim = `
with ${mine},
free as materialized (
  select ctid, id, octet_length(body) as bytes from onceward.queue_message
  where queue_id = $1 and id > $7 and lease_id is null and exists (select from mine)
  order by id limit $4 for update skip locked),
${lease}`

/**
 * Always from the start: behind a cursor a key's earlier message could have become free while a later one is
 * taken. `blocked` are the keys others hold, complete because no lease reaches past its high_id. `gap` is an
 * earlier message of a key that somebody outside (an operator's open transaction) has locked: later ones of
 * that key wait for it.
 */
const orderedClaim = `
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
