import type { SqlClient } from '../pool.ts'
import { live, markerIs, shadow, unfinished } from './generations.ts'

/** Messages whose effect is in the live tables and not in the rebuilt ones. */
export async function missingFromShadow(client: SqlClient, { id }: { readonly id: string }): Promise<number> {
  const { rows } = await client.query(
    `select count(*)::integer as count from onceward.inbox l where l.consumer_id = ${live} and l.status = 'applied'
     and not exists (select from onceward.inbox s where s.consumer_id = ${shadow} and s.message_id = l.message_id)`,
    [id],
  )
  return rows[0].count
}

/**
 * A snapshot does not list its own transaction as in progress. The table lock has assigned this transaction
 * an id, and others have ended since, so a rollback would take our rows for older than the swap.
 */
const snapshotWithoutUs = `
  select case when pg_current_xact_id() >= pg_snapshot_xmax(taken) then taken else format('%s:%s:%s',
      least(pg_snapshot_xmin(taken)::text::bigint, pg_current_xact_id()::text::bigint), pg_snapshot_xmax(taken),
      (select string_agg(x::text, ',' order by x::text::bigint) from
        (select pg_snapshot_xip(taken) as x union select pg_current_xact_id()) as open))::pg_snapshot end
  from (select pg_current_snapshot() as taken) as now`

/**
 * Gives the live consumer markers of messages that the rebuilt tables contain and it has not read; it will
 * skip them. A live batch that is about to apply one of them waits for our lock while we wait for its marker.
 * The server ends one of the two, and it runs again.
 */
export async function carryMarkers(client: SqlClient, { id }: { readonly id: string }): Promise<number> {
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
  // A business key that the rebuilt tables have used is taken from a message that the live consumer has not
  // finished.
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

/** A full transaction id, without wrap-around, of rows written since the swap, which is recent. */
const whole = `((pg_current_xact_id()::text::bigint - ((pg_current_xact_id()::text::bigint - xmin::text::bigint) & 4294967295))::text::xid8)`

/**
 * Removes markers committed since the swap, in any order of their transactions. Messages that an operator
 * gave up since then stay given up.
 */
export async function forgetSince(client: SqlClient, { id }: { readonly id: string }): Promise<number> {
  // By time as well: the lower half of an old row's id may look recent.
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
