import type { SqlClient } from '../../drivers/postgres/pool.ts'
import type { Campaign } from '../campaign/campaign.ts'

export const live = `(select o.id from onceward.consumer o join onceward.campaign c on o.name = c.consumer_name
  and o.generation = c.live_generation where c.id = $1)`
export const shadow = `(select o.id from onceward.consumer o join onceward.campaign c on o.name = c.consumer_name
  and o.generation = c.generation where c.id = $1)`

export const unfinished = `('stored', 'waiting', 'parked')`
export const markerIs = (consumer: string, messageId: string, statuses: string) =>
  `exists (select from onceward.inbox m where m.consumer_id = ${consumer} and m.message_id = ${messageId} and m.status in ${statuses})`

/** Messages whose effect the live tables have and the rebuilt ones have not. */
export async function missingFromShadow(client: SqlClient, { id }: Campaign): Promise<number> {
  const { rows } = await client.query(
    `select count(*)::integer as count from onceward.inbox l where l.consumer_id = ${live} and l.status = 'applied'
     and not exists (select from onceward.inbox s where s.consumer_id = ${shadow} and s.message_id = l.message_id)`,
    [id],
  )
  return rows[0].count
}

/**
 * A snapshot leaves the transaction that takes it out of the list of those in progress. The lock on the
 * tables has given us an id, and others have ended since, so to a rollback our own rows would look older than
 * the swap.
 */
const snapshotWithoutUs = `
  select case when pg_current_xact_id() >= pg_snapshot_xmax(taken) then taken else format('%s:%s:%s',
      least(pg_snapshot_xmin(taken)::text::bigint, pg_current_xact_id()::text::bigint), pg_snapshot_xmax(taken),
      (select string_agg(x::text, ',' order by x::text::bigint) from
        (select pg_snapshot_xip(taken) as x union select pg_current_xact_id()) as open))::pg_snapshot end
  from (select pg_current_snapshot() as taken) as now`

/**
 * What the rebuilt tables have and the live consumer had not come to: it gets their markers, and skips them
 * when it comes. A live batch that is about to apply one of them waits for our lock as we wait for its
 * marker; the server ends one of the two, and it runs again.
 */
export async function carryMarkers(client: SqlClient, { id }: Campaign): Promise<number> {
  await client.query(`update onceward.campaign set swap_snapshot = (${snapshotWithoutUs}) where id = $1`, [
    id,
  ])
  const { rowCount } = await client.query(
    `insert into onceward.inbox (consumer_id, run_id, status, message_id, digest, position)
     select ${live}, s.run_id, s.status, s.message_id, s.digest, s.position from onceward.inbox s
     where s.consumer_id = ${shadow}
       and not exists (select from onceward.inbox l where l.consumer_id = ${live} and l.message_id = s.message_id)
     order by s.message_id on conflict do nothing`,
    [id],
  )
  // A key that the rebuilt tables have used is not held any more by a message that the live consumer has not
  // done.
  await client.query(
    `insert into onceward.business_key as k (consumer_id, key, message_id, digest)
     select ${live}, s.key, s.message_id, s.digest from onceward.business_key s where s.consumer_id = ${shadow}
     order by s.key on conflict (consumer_id, key) do update
     set message_id = excluded.message_id, digest = excluded.digest, at = now()
     where k.message_id <> excluded.message_id and ${markerIs(live, 'k.message_id', unfinished)}
       and ${markerIs(shadow, 'excluded.message_id', `('applied')`)}`,
    [id],
  )
  return rowCount ?? 0
}

/**
 * A transaction id as the server counts it, without its wrap-around; of rows written since the swap, which is
 * recent.
 */
const whole = `((pg_current_xact_id()::text::bigint - ((pg_current_xact_id()::text::bigint - xmin::text::bigint) & 4294967295))::text::xid8)`

/**
 * Markers of what was committed since the swap, in whatever order transactions began. What people gave up
 * since stays given up.
 */
export async function forgetSince(client: SqlClient, { id }: Campaign): Promise<number> {
  // By time as well: an old row's id, cut to its lower half, may look like a recent one.
  const since = `at > (select swapped_at - interval '1 day' from onceward.campaign where id = $1)
    and not pg_visible_in_snapshot(${whole}, (select swap_snapshot from onceward.campaign where id = $1))`
  const { rowCount } = await client.query(
    `delete from onceward.inbox where consumer_id = ${live} and ${since} and status in ('applied', 'ignored', 'stale', 'duplicate')
       and not (status = 'ignored' and exists (select from onceward.closed_held x where x.consumer_id = inbox.consumer_id
         and x.message_id = inbox.message_id and onceward.is_given_up(x.closed_as, x.reopened_by) offset 0))`,
    [id],
  )
  await client.query(
    `delete from onceward.business_key k where k.consumer_id = ${live} and ${since}
     and not ${markerIs(live, 'k.message_id', unfinished)}`,
    [id],
  )
  return rowCount ?? 0
}
