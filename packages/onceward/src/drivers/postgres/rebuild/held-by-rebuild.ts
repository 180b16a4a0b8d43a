import type { SqlClient } from '../pool.ts'
import { live, markerIs, shadow, unfinished } from './generations.ts'

/** Identifies rows that a swap closed. */
const how = 'rebuilt'
const reasonOf = (id: string) => `campaign ${id}`

/**
 * Closes work that the live consumer holds although the rebuilt tables contain its effect: a worker would
 * apply it a second time. A worker that is processing it loses its lease. Rows of a conflict have other
 * content than the marker and stay.
 */
const close = `
  with gone as (
    delete from onceward.held h using onceward.inbox l, onceward.inbox s
    where h.consumer_id = ${live} and l.consumer_id = h.consumer_id and l.message_id = h.message_id and l.digest = h.digest
      and l.status in ('stored', 'waiting', 'parked', 'dead', 'quarantined')
      and s.consumer_id = ${shadow} and s.message_id = h.message_id and s.status = 'applied'
    returning h.*, onceward.held_to_json(h) as record),
  marked as (
    update onceward.inbox i set status = 'applied', at = clock_timestamp() from gone
    where i.consumer_id = gone.consumer_id and i.message_id = gone.message_id)
  insert into onceward.closed_held (held_id, consumer_id, message_id, digest, closed_as, reason, record, body)
  select id, consumer_id, message_id, digest, '${how}', $2, record, body from gone
  returning record ->> 'order_key' as key`

/**
 * Closes held messages whose business key another message has used in the rebuilt tables: they are duplicates
 * of that one. A message with other content under the key stays, and its worker quarantines it.
 */
const closeByKey = `
  with gone as (
    delete from onceward.held h using onceward.business_key s
    where h.consumer_id = ${live} and h.state in ${unfinished} and s.consumer_id = ${shadow} and s.key = h.business_key
      and s.message_id <> h.message_id and (h.key_digest is null or s.digest is null or h.key_digest = s.digest)
      and ${markerIs(shadow, 's.message_id', `('applied')`)}
    returning h.*, onceward.held_to_json(h) as record),
  marked as (
    update onceward.inbox i set status = 'duplicate', at = clock_timestamp() from gone
    where i.consumer_id = gone.consumer_id and i.message_id = gone.message_id)
  insert into onceward.closed_held (held_id, consumer_id, message_id, digest, closed_as, reason, record, body)
  select id, consumer_id, message_id, digest, '${how}', $2, record, body from gone
  returning record ->> 'order_key' as key`

/**
 * Held messages whose key the swap gave to another message must claim it again. A worker that is processing
 * one loses its lease.
 */
const loseKeys = `
  update onceward.held h set keyless = true, epoch = h.epoch + 1, lease_until = null
  from onceward.business_key k
  where h.consumer_id = ${live} and h.state in ${unfinished} and not h.keyless and k.consumer_id = h.consumer_id and k.key = h.business_key
    and k.message_id <> h.message_id and ${markerIs(live, 'k.message_id', `('applied')`)}`

/** Messages that wait for used keys become due. */
const goOn = `
  select onceward.end_key_waits(${live}, array_agg(k.key), array_agg(k.message_id)) from (
    select distinct k.key, k.message_id from onceward.held h
    join onceward.business_key k on k.consumer_id = h.consumer_id and k.key = h.business_key
    where h.consumer_id = ${live} and h.keyless and ${markerIs(live, 'k.message_id', `('applied')`)}) k having count(*) > 0`

/** Unblocks keys that nothing blocks any more. */
const freeKeys = `
  select onceward.unblock_keys(${live}, array(
    select key from unnest($2::text[]) as key where not exists (
      select from onceward.held h where h.consumer_id = ${live} and h.order_key = key
        and (h.state = 'quarantined' or h.state = 'parked' and h.code <> 'behind_parked'))))`

export async function closeRebuilt(client: SqlClient, { id }: { readonly id: string }): Promise<number> {
  const values = [id, reasonOf(id)]
  const rows = [...(await client.query(close, values)).rows, ...(await client.query(closeByKey, values)).rows]
  const keys = new Set(rows.flatMap(({ key }) => (key as string | null) ?? []))
  if (keys.size > 0) await client.query(freeKeys, [id, [...keys]])
  await client.query(loseKeys, [id])
  await client.query(goOn, [id])
  return rows.length
}

/**
 * Called when the markers of the swap are removed. Rows that the swap closed are held again as before, keep
 * their order, and get their business key back.
 */
const reopen = `
  with back as (
    delete from onceward.closed_held x where x.consumer_id = ${live} and x.closed_as = '${how}' and x.reason = $2 returning x.*),
  held as (
    insert into onceward.held overriding system value
    select h.* from back x cross join onceward.held_from_json(x.record, x.body) h returning *),
  marked as (
    insert into onceward.inbox (consumer_id, run_id, status, message_id, digest, position)
    select consumer_id, run_id, state::text::onceward.marker_status, message_id, digest, position from held
    on conflict (consumer_id, message_id) do update set status = excluded.status),
  keyed as (
    insert into onceward.business_key as k (consumer_id, key, message_id, digest)
    select consumer_id, business_key, message_id, key_digest from held
    where business_key is not null and message_id is not null and not keyless and state in ${unfinished}
    order by business_key on conflict (consumer_id, key) do update set message_id = excluded.message_id,
      digest = case when k.message_id = excluded.message_id then coalesce(excluded.digest, k.digest) else excluded.digest end)
  insert into onceward.blocked_key (consumer_id, key)
  select distinct consumer_id, order_key from held where state in ('parked', 'quarantined') and order_key is not null
  on conflict (consumer_id, key) do update set state = 'parked'`

export async function reopenRebuilt(client: SqlClient, { id }: { readonly id: string }): Promise<void> {
  await client.query(reopen, [id, reasonOf(id)])
}
