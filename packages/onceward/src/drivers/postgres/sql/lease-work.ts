import type { Enrolment } from '../../../ports/enrolment.ts'
import type { LeasedWork, WorkRequest, WorkRow } from '../../../ports/held-work.ts'
import { jitSettings } from '../no-jit.ts'
import type { ShortTransaction } from '../work-queue.ts'
import { effectsOf } from './campaign-effects.ts'
import { leaseEnded } from './clock-ahead.ts'
import { isoTime } from './iso-time.ts'

/**
 * A lease lost in a server crash means that a row is processed twice and finished once, so the lease does not
 * wait for the disk. The planner settings keep the scan on the index of due work, even with misleading
 * statistics.
 */
export const settings = {
  synchronous_commit: 'off',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_sort: 'off',
  ...jitSettings,
}

/** The database clock, read once: a volatile function cannot bound an index scan. */
const clock = 'clock as materialized (select clock_timestamp() as now)'
const isFree = `(lease_until is null or ${leaseEnded('lease_until', '(select now from clock)', '$3')})`

/**
 * A replay suppresses external effects, and leaves live work alone. Live workers lease all rows, in the mode
 * in which they were held: a campaign has no workers, and a replay may have ended. Rows that request effects
 * without a valid approval wait for one.
 */
const isOurs = `case when $7 <> 'live' then campaign_id is null and mode = $7
  else campaign_id is null or ${effectsOf('campaign_id')} <> 'unapproved' end`

const take = `
update onceward.held h set epoch = h.epoch + 1, lease_until = (select now from clock) + $3::float8 * interval '1 millisecond',
  leased_at = (select now from clock), run_id = $4
from free where h.ctid = free.ctid
returning h.id::text as row, h.epoch, h.state::text, h.released, free.lease_until is not null as expired, h.message_id, h.digest,
  nullif(h.headers::text, '{}') as headers, nullif(h.properties::text, '{}') as properties, h.origin, h.position, h.broker_key,
  h.delivery_count, ${isoTime('h.first_at')} as first_at, ${isoTime('h.due_at')} as due, h.attempts, h.keyless, h.mode, h.campaign_id::text as campaign_id,
  ${effectsOf('h.campaign_id')} as effects, h.body`

const leaseDue = `
with ${clock},
free as materialized (
  select ctid, lease_until from onceward.held
  where consumer_id = $1 and due_at <= (select now from clock) and (due_at, id) > ($5::timestamptz, $6::bigint) and ${isFree} and ${isOurs}
  order by due_at, id limit $2 for update skip locked)
${take}`

/**
 * Of the first due rows, those with no unfinished earlier row of their key, except in this statement. `gap`
 * is the first row of each key that is not free: leased, parked, delayed. `rival` is a row that another
 * transaction locks at this moment. Cut by id, so that the earliest rows of each key are taken. Of a blocked
 * key only released rows are taken. Rows that wait for a version have their own order.
 */
const leaseInOrder = `
with ${clock},
seen as materialized (
  select id, order_key, state, due_at, ${isFree} and ${isOurs} as free from onceward.held
  where consumer_id = $1 and due_at <= (select now from clock) and (due_at, id) > ($5::timestamptz, $6::bigint)
  order by due_at, id limit $8),
gap as materialized (
  select keys.order_key, first.id from (
    select distinct order_key from seen where state = 'stored' and order_key is not null) keys
  cross join lateral (
    select e.id from onceward.held e
    where e.consumer_id = $1 and e.order_key = keys.order_key and e.order_key is not null and e.state in ('stored', 'parked')
      and e.id not in (select id from seen where free)
    order by e.id limit 1) first),
wanted as materialized (
  select id, order_key, state from seen
  where free and not exists (
    select from gap where seen.state = 'stored' and gap.order_key = seen.order_key and gap.id < seen.id)
    and not exists (
    select from onceward.blocked_key b where seen.state = 'stored' and b.consumer_id = $1 and b.key = seen.order_key and b.state = 'parked'
      and (b.released_to is null or b.released_to < seen.id))
  order by id limit $2),
locked as materialized (
  select id, ctid, lease_until from onceward.held
  where id = any (array(select id from wanted)) and due_at <= (select now from clock) and ${isFree} for update skip locked),
rival as materialized (
  select order_key, min(id) as id from wanted
  where state = 'stored' and order_key is not null and id not in (select id from locked) group by order_key),
free as materialized (
  select locked.ctid, locked.lease_until from locked join wanted using (id)
  where not exists (
    select from rival where wanted.state = 'stored' and rival.order_key = wanted.order_key and rival.id < wanted.id)),
taken as (${take}),
last as (select ${isoTime('due_at')} as last_due, id::text as last_id from seen order by due_at desc, id desc limit 1)
select taken.*, last.*, (select count(*)::integer from seen) as seen from last left join taken on true`

/** Where the scan begins; kept as text, which only this file interprets. */
interface Cursor {
  readonly due: string
  readonly id: string
}
const start: Cursor = { due: '-infinity', id: '0' }

/**
 * The cursor is a hint that skips leased rows, and finished rows that are not vacuumed yet. Rows that became
 * free meanwhile lie behind it, so the caller returns to the start from time to time.
 */
export async function leaseWork(
  short: ShortTransaction,
  { consumerId, runId, facts }: Enrolment,
  { countMax, leaseMs, ordered, after }: WorkRequest,
): Promise<LeasedWork> {
  const from = after === null ? start : (JSON.parse(after) as Cursor)
  const values = [consumerId, countMax, leaseMs, runId, from.due, from.id, facts.mode]
  const seenMax = 2 * countMax + 100
  const { rows } = ordered
    ? await short(settings, leaseInOrder, [...values, seenMax])
    : await short(settings, leaseDue, values)
  const taken = rows.filter(row => row.row !== null).sort((a, b) => Number(a.row) - Number(b.row))
  const stuck = taken.length === 0 && rows[0]?.seen === seenMax
  const next = stuck
    ? { due: rows[0].last_due, id: rows[0].last_id }
    : taken.length === countMax
      ? lastOf(taken)
      : null
  return {
    rows: taken.map(workRow),
    expired: taken.filter(row => row.expired).length,
    next: next && JSON.stringify(next),
  }
}

function lastOf(taken: readonly { readonly due: string; readonly row: string }[]): Cursor {
  const { due, row } = taken.at(-1)!
  return { due, id: row }
}

// biome-ignore lint/suspicious/noExplicitAny: shaped by the statement above
function workRow(row: any): WorkRow {
  const waited = row.state !== 'waiting' ? null : row.released ? 'released' : 'too late'
  return { ...heldRow(row), waited, abandoned: row.expired }
}

// biome-ignore lint/suspicious/noExplicitAny: a row of held work, under the names of its columns
export function heldRow(row: any): WorkRow {
  return {
    row: row.row,
    epoch: row.epoch,
    messageId: row.message_id,
    digest: row.digest,
    waited: null,
    keyless: row.keyless,
    abandoned: false,
    firstAt: row.first_at,
    attempts: row.attempts,
    cameFrom: { mode: row.mode, campaignId: row.campaign_id, effects: row.effects },
    body: row.body,
    headers: row.headers,
    properties: row.properties,
    origin: row.origin,
    position: row.position,
    brokerKey: row.broker_key,
    deliveryCount: row.delivery_count,
  }
}
