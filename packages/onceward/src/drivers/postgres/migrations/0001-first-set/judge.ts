/**
 * Whether a row that was set aside may be tried again. Every release (redrive, release, rows behind a key, a
 * campaign on parked rows) calls judge_parked; all but the campaign move rows with release_rows.
 */
export const judge = `
-- The digest of what an operator saw and selected. Rows that changed from campaign rows to live rows since
-- then are another selection: their external effects would happen.
create function onceward.selection_digest(ids bigint[]) returns bytea language sql stable
return (
  select sha256(convert_to(coalesce(string_agg(concat_ws(' ', h.id, h.state, encode(h.digest, 'hex'), (
    select max(l.id) from onceward.fix l where l.held_id = h.id),
    coalesce('campaign ' || h.campaign_id, nullif(h.mode, 'live'))), ',' order by h.id), ''), 'UTF8'))
  from onceward.held h where h.id = any (ids) and h.state in ('parked', 'dead', 'quarantined'));

-- The consumer of this name that owns all rows; null if a row is missing or belongs to another consumer.
create function onceward.selected_consumer(ids bigint[], named text) returns integer language sql stable
return (
  select case when count(*) = cardinality(ids) and count(distinct c.id) = 1 and bool_and(c.name = named)
    then min(c.id) end
  from onceward.held h join onceward.consumer c on c.id = h.consumer_id where h.id = any (ids));

-- Why a row that a campaign held may not be released: it needs what the campaign needed to run. Null if it
-- may.
create function onceward.judge_origin(campaign bigint) returns text language sql stable
return (
  select case
    when c.mode = 'rebuild'
      then 'belongs to the tables that campaign ' || c.id || ' rebuilds: skip it, or cancel that campaign'
    when c.needs_approval and c.state = 'cancelled' then 'was held by campaign ' || c.id
      || ', which was cancelled: select it in an approved campaign on parked messages, or skip it'
    when c.needs_approval and not exists (
      select from onceward.campaign_approval a
      where a.campaign_id = c.id and a.plan_digest = c.plan_digest and a.expires_at > clock_timestamp())
    then 'was held by campaign ' || c.id
      || ', whose approval has expired: have it approved again, or select it in an '
      || 'approved campaign on parked messages'
  end from onceward.campaign c where c.id = campaign);

-- Why a row that was set aside may not be tried again, for each picked row; null for a row that may. The
-- caller holds the locks and has inserted markers and business keys of the rows. A row without a message id
-- may be released: the worker reads the id, and does not apply a message without one. A row that waits for
-- its business key may be released when the holder of the key is done, is being processed, or is released
-- with it. The approval of a fixed payload is checked last. taken_by is a campaign that was approved for
-- exactly these rows: its mode applies, not the mode of the campaign that held them. in_order is false if the
-- caller picks whole keys and keeps their order.
create function onceward.judge_parked(picked bigint[], taken_by bigint default null,
  in_order boolean default true)
returns table (id bigint, order_key text, why text) language sql stable
set search_path = pg_catalog, pg_temp as $$
  select p.id, h.order_key, case
    when h.id is null then 'is done, or another operator decided it'
    when h.state not in ('parked', 'dead', 'quarantined') then 'is already being processed'
    when m.status not in ('parked', 'dead', 'quarantined') then 'its message id is already ' || m.status
    when m.digest <> h.digest then 'its message id belongs to other content'
    when m.message_id is null and h.code = 'conflict'
      then 'its message id belonged to other content, whose marker was removed'
    when k.message_id <> h.message_id and not h.keyless
      then 'its business key was used by message ' || k.message_id
    when k.message_id <> h.message_id and holder.status in ('parked', 'dead', 'quarantined') and not exists (
      select from onceward.held a
      where a.id = any (picked) and a.consumer_id = h.consumer_id and a.message_id = k.message_id)
    then 'waits for its business key, which message ' || k.message_id || ' holds'
    when before.id is not null then 'waits behind row ' || before.id
    else coalesce(case when taken_by is null and h.campaign_id is not null
      then onceward.judge_origin(h.campaign_id) end, onceward.fix_waits(h.id))
  end as why
  from unnest(picked) as p (id)
  left join onceward.held h on h.id = p.id
  left join onceward.inbox m on m.consumer_id = h.consumer_id and m.message_id = h.message_id
  left join onceward.business_key k on k.consumer_id = h.consumer_id and k.key = h.business_key
  left join lateral (
    select i.status from onceward.inbox i
    where h.keyless and i.consumer_id = h.consumer_id and i.message_id = k.message_id limit 1) holder on true
  left join lateral (
    select e.id from onceward.held e
    where in_order and e.consumer_id = h.consumer_id and e.order_key = h.order_key and e.order_key is not null
      and e.id < h.id and e.id <> all (picked) and e.state in ('stored', 'parked') and e.state = 'parked'
    union all
    select e.id from onceward.held e
    where in_order and e.consumer_id = h.consumer_id and e.order_key = h.order_key and e.order_key is not null
      and e.id < h.id and e.id <> all (picked) and e.state = 'quarantined'
    limit 1) before on true;
$$;

-- Releases those of the picked rows that may be released. Markers and business keys are inserted first: a
-- process that is about to insert the same marker or key is waited for and seen, and of two rows with one key
-- the second finds it used. Rows behind a row that stays, stay. A row that finds its business key free
-- inserts it with its digest, and is no longer keyless. Returns every row with the reason why it stays. Runs
-- with the rights of its caller: only the audited functions run with those of the owner. Without the two
-- settings, the planner reads a selection that was just written completely each time.
create function onceward.release_rows(of_consumer integer, picked bigint[], in_order boolean)
returns table (id bigint, order_key text, why text) language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare inserted text[]; gone bigint[]; ruled_ids bigint[]; ruled_keys text[]; ruled_whys text[];
begin
  perform from onceward.blocked_key b where b.consumer_id = of_consumer and b.key = any (array(
    select distinct h.order_key from onceward.held h where h.id = any (picked) and h.order_key is not null))
    order by b.key for update;
  perform from onceward.held h where h.id = any (picked) order by h.id for update;
  with put as (
    insert into onceward.business_key (consumer_id, key, message_id, digest)
      select of_consumer, h.business_key, h.message_id, h.key_digest from onceward.held h
      where h.id = any (picked) and h.business_key is not null and h.message_id is not null
        and h.state in ('parked', 'dead', 'quarantined')
      order by h.business_key, h.id on conflict do nothing returning key)
  select coalesce(array_agg(key), '{}') into inserted from put;
  insert into onceward.inbox (consumer_id, run_id, status, message_id, digest, position)
    select of_consumer, h.run_id, h.state::text::onceward.marker_status, h.message_id, h.digest, h.position
    from onceward.held h join onceward.consumer c on c.id = of_consumer and c.dedup = 'marker'
    where h.id = any (picked) and h.message_id is not null and h.code <> 'conflict'
      and h.state in ('parked', 'dead', 'quarantined')
      and not exists (select from onceward.inbox i where i.consumer_id = of_consumer
        and i.message_id = h.message_id)
    order by h.message_id on conflict do nothing;

  with judged as materialized (select * from onceward.judge_parked(picked, null, in_order)),
  stops as materialized (
    select j.order_key, min(j.id) as id from judged j
    where j.why is not null and j.order_key is not null group by j.order_key),
  ruled as materialized (
    select j.id, j.order_key, coalesce(j.why, 'waits behind row ' || s.id) as why
    from judged j left join stops s on s.order_key = j.order_key and s.id < j.id)
  select array_agg(r.id order by r.id), array_agg(r.order_key order by r.id), array_agg(r.why order by r.id),
    coalesce(array_agg(r.id order by r.id) filter (where r.why is null), '{}')
  into ruled_ids, ruled_keys, ruled_whys, gone from ruled r;

  delete from onceward.business_key k where k.consumer_id = of_consumer and k.key = any (inserted)
    and not exists (
    select from onceward.held h
    where h.id = any (gone) and h.business_key = k.key and h.message_id = k.message_id);
  -- Markers are compared with arrays of one element: those use the index, while a join may read all markers.
  update onceward.inbox i set status = 'stored'
    from (select h.message_id from onceward.held h where h.id = any (gone) offset 0) h
    where i.consumer_id = any (array[of_consumer]) and i.message_id = any (array[h.message_id]);
  update onceward.held h set state = 'stored', due_at = clock_timestamp(), last_at = clock_timestamp(),
    lease_until = null, keyless = h.keyless and not exists (select from onceward.business_key k
      where k.consumer_id = of_consumer and k.key = h.business_key and k.message_id = h.message_id)
    where h.id = any (gone);
  return query select * from unnest(ruled_ids, ruled_keys, ruled_whys);
end $$;
`
