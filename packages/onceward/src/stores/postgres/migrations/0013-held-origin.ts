/**
 * Where held work came from, and the one judgement of whether it may go. Every way to let a row go (redrive, release, what was behind a key, a
 * campaign on parked rows) asks `judge_parked`; every one but the campaign moves rows by `let_go`.
 */
export const heldOrigin = `
-- The mode of the run that held it, and its campaign: who takes it up works in that mode. Kept while the row is held, whoever holds it again.
alter table onceward.held
  add column mode text not null default 'live',
  add column campaign_id bigint;
-- Rows that a campaign selected among the parked were held before it: theirs is not the campaign's mode.
update onceward.held h set mode = r.mode, campaign_id = r.campaign_id from onceward.run r
  where r.id = h.run_id and (r.mode <> 'live' or r.campaign_id is not null) and not exists (
    select from onceward.campaign_row c where c.campaign_id = r.campaign_id and c.held_id = h.id);
create index held_of_campaign on onceward.held (consumer_id, message_id) where campaign_id is not null;

-- Of a key that stays parked: rows up to this number were let go and may be worked on. Null when none were.
alter table onceward.blocked_key add column released_to bigint;

create or replace function onceward.held_of(record jsonb, body bytea) returns onceward.held language plpgsql stable as $$
declare h onceward.held := jsonb_populate_record(null::onceward.held, record);
begin
  h.headers := (h.headers #>> '{}')::json;
  h.properties := (h.properties #>> '{}')::json;
  h.body := body;
  h.lease_until := null;
  h.mode := coalesce(h.mode, 'live');
  return h;
end $$;

-- A selection whose rows have become live since it was shown is another one: their external effects would happen.
create or replace function onceward.selection_digest(ids bigint[]) returns bytea language sql stable
return (
  select sha256(convert_to(coalesce(string_agg(concat_ws(' ', h.id, h.state, encode(h.digest, 'hex'), (
    select max(l.id) from onceward.lineage l where l.held_id = h.id), 'campaign ' || h.campaign_id), ',' order by h.id), ''), 'UTF8'))
  from onceward.held h where h.id = any (ids) and h.state in ('parked', 'dead', 'quarantined'));

-- Why what a campaign held may not go: it needs what the campaign needed to run. Null when it may.
create function onceward.judge_origin(campaign bigint) returns text language sql stable
return (
  select case
    when c.mode = 'rebuild' then 'belongs to the tables that campaign ' || c.id || ' rebuilds: skip it, or cancel that campaign'
    when c.needs_approval and c.state = 'cancelled' then 'was held by campaign ' || c.id
      || ', which was cancelled: select it with an approved campaign on what is parked, or skip it'
    when c.needs_approval and not exists (
      select from onceward.campaign_approval a
      where a.campaign_id = c.id and a.plan_digest = c.plan_digest and a.expires_at > clock_timestamp())
    then 'was held by campaign ' || c.id || ', whose approval has expired: let somebody approve it again, or select it with an '
      || 'approved campaign on what is parked'
  end from onceward.campaign c where c.id = campaign);

-- Why a row that waits for people may not be tried again, for each of those picked; null for what may. Asked by whoever holds the locks, with
-- the markers and business keys of the rows written. A row without a message id may go: the worker that takes it reads the id, and does not
-- apply what has none. taken_by is a campaign that was approved for exactly these rows: it goes by its own mode, not by that of their origin.
-- in_order is false when the caller picks whole keys and answers for their order.
drop function onceward.judge_parked(bigint[]);
create function onceward.judge_parked(picked bigint[], taken_by bigint default null, in_order boolean default true)
returns table (id bigint, order_key text, why text) language sql stable as $$
  select p.id, h.order_key, case
    when h.id is null then 'done, or decided by somebody else'
    when h.state not in ('parked', 'dead', 'quarantined') then 'at work already'
    when m.status not in ('parked', 'dead', 'quarantined') then 'its message id is ' || m.status || ' already'
    when m.digest <> h.digest then 'its message id belongs to other content'
    when m.message_id is null and h.code = 'conflict' then 'its message id belonged to other content, of which the marker is removed'
    when k.message_id <> h.message_id then 'its business key was used by message ' || k.message_id
    when before.id is not null then 'waits behind number ' || before.id
    when taken_by is null and h.campaign_id is not null then onceward.judge_origin(h.campaign_id)
  end as why
  from unnest(picked) as p (id)
  left join onceward.held h on h.id = p.id
  left join onceward.inbox m on m.consumer_id = h.consumer_id and m.message_id = h.message_id
  left join onceward.business_key k on k.consumer_id = h.consumer_id and k.key = h.business_key
  left join lateral (
    select e.id from onceward.held e
    where in_order and e.consumer_id = h.consumer_id and e.order_key = h.order_key and e.order_key is not null and e.id < h.id
      and e.id <> all (picked) and e.state in ('stored', 'parked') and e.state = 'parked'
    union all
    select e.id from onceward.held e
    where in_order and e.consumer_id = h.consumer_id and e.order_key = h.order_key and e.order_key is not null and e.id < h.id
      and e.id <> all (picked) and e.state = 'quarantined'
    limit 1) before on true;
$$;

-- Makes work of the rows that may go, with what protects them written first: whoever is about to take a marker or a business key is waited for
-- and seen, and of two rows with one key the second finds it used. What is behind a row that stays, stays. Answers with every row and why it
-- stays. It has the rights of its caller, here and below: only the audited functions have those of the owner. Without the two settings a selection that was just written is read whole each time.
create function onceward.let_go(of integer, picked bigint[], in_order boolean)
returns table (id bigint, order_key text, why text) language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare claimed text[]; gone bigint[]; ruled_ids bigint[]; ruled_keys text[]; ruled_whys text[];
begin
  perform from onceward.blocked_key b where b.consumer_id = of and b.key = any (array(
    select distinct h.order_key from onceward.held h where h.id = any (picked) and h.order_key is not null)) order by b.key for update;
  perform from onceward.held h where h.id = any (picked) order by h.id for update;
  with put as (
    insert into onceward.business_key (consumer_id, key, message_id)
      select of, h.business_key, h.message_id from onceward.held h
      where h.id = any (picked) and h.business_key is not null and h.message_id is not null and h.state in ('parked', 'dead', 'quarantined')
      order by h.business_key, h.id on conflict do nothing returning key)
  select coalesce(array_agg(key), '{}') into claimed from put;
  insert into onceward.inbox (consumer_id, run_id, status, message_id, digest, position)
    select of, h.run_id, h.state::text::onceward.marker_status, h.message_id, h.digest, h.position
    from onceward.held h join onceward.consumer c on c.id = of and c.dedup = 'marker'
    where h.id = any (picked) and h.message_id is not null and h.code <> 'conflict' and h.state in ('parked', 'dead', 'quarantined')
      and not exists (select from onceward.inbox i where i.consumer_id = of and i.message_id = h.message_id)
    order by h.message_id on conflict do nothing;

  with judged as materialized (select * from onceward.judge_parked(picked, null, in_order)),
  stops as materialized (
    select j.order_key, min(j.id) as id from judged j where j.why is not null and j.order_key is not null group by j.order_key),
  ruled as materialized (
    select j.id, j.order_key, coalesce(j.why, 'waits behind number ' || s.id) as why
    from judged j left join stops s on s.order_key = j.order_key and s.id < j.id)
  select array_agg(r.id order by r.id), array_agg(r.order_key order by r.id), array_agg(r.why order by r.id),
    coalesce(array_agg(r.id order by r.id) filter (where r.why is null), '{}')
  into ruled_ids, ruled_keys, ruled_whys, gone from ruled r;

  delete from onceward.business_key k where k.consumer_id = of and k.key = any (claimed) and not exists (
    select from onceward.held h where h.id = any (gone) and h.business_key = k.key and h.message_id = k.message_id);
  -- Markers are compared with lists of one: those are looked up, where a join may read all the markers there are.
  update onceward.inbox i set status = 'stored'
    from (select h.message_id from onceward.held h where h.id = any (gone) offset 0) h
    where i.consumer_id = any (array[of]) and i.message_id = any (array[h.message_id]);
  update onceward.held h set state = 'stored', due_at = clock_timestamp(), last_at = clock_timestamp(), lease_until = null
    where h.id = any (gone);
  return query select * from unnest(ruled_ids, ruled_keys, ruled_whys);
end $$;

-- Lets what is parked under these keys go, in order, up to the first row that may not: that one is the head of its key from then on, with the
-- reason. What comes meanwhile goes behind it. The blocked key is locked first: who is about to append is waited for, and its row is then among these.
create function onceward.let_keys_go(of integer, keys text[], past_quarantined boolean) returns bigint[]
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare picked bigint[]; freed bigint[]; heads bigint[]; whys text[];
begin
  perform from onceward.blocked_key b where b.consumer_id = of and b.key = any (keys) order by b.key for update;
  picked := array(
    select h.id from onceward.held h
    where h.consumer_id = of and h.order_key = any (keys) and h.order_key is not null and h.state in ('stored', 'parked') and h.state = 'parked'
      and (past_quarantined or not exists (
        select from onceward.held q where q.consumer_id = of and q.order_key = h.order_key and q.order_key is not null
          and q.state = 'quarantined' and q.id < h.id))
    order by h.id);
  with ruled as materialized (select * from onceward.let_go(of, picked, false)),
  first as (select distinct on (r.order_key) r.id, r.why from ruled r where r.why is not null order by r.order_key, r.id)
  select coalesce((select array_agg(r.id order by r.id) from ruled r where r.why is null), '{}'), array_agg(f.id), array_agg(f.why)
  into freed, heads, whys from first f;
  update onceward.held h set failure_class = 'order', code = 'held_back', reason = s.why
    from unnest(heads, whys) as s (id, why) where h.id = s.id and h.code = 'behind_parked';
  update onceward.blocked_key b set state = case when stop.id is null then 'released' else 'parked' end, released_to = stop.id - 1
  from unnest(keys) as k (key)
  left join lateral (
    select min(s.id) as id from (
      (select h.id from onceward.held h where h.consumer_id = of and h.order_key = k.key and h.order_key is not null
        and h.state in ('stored', 'parked') and h.state = 'parked' order by h.id limit 1)
      union all
      (select h.id from onceward.held h where not past_quarantined and h.consumer_id = of and h.order_key = k.key
        and h.order_key is not null and h.state = 'quarantined' order by h.id limit 1)) s) stop on true
  where b.consumer_id = of and b.key = k.key;
  return freed;
end $$;

create or replace function onceward.free_keys(of integer, keys text[]) returns bigint[]
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  return onceward.let_keys_go(of, keys, false);
end $$;

-- Called with what a batch has parked. Under a key that was released, what is behind and nobody works on waits for people again: all of it, or
-- where only a part was let go, only when one of that part is parked again.
create or replace function onceward.block_keys(of integer, keys text[], behind integer[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare again text[] := array(
  select b.key from onceward.blocked_key b where b.consumer_id = of and b.key = any (keys) and (b.state = 'released' or exists (
    select from onceward.held h where h.consumer_id = of and h.order_key = b.key and h.order_key is not null and h.id <= b.released_to
      and h.state in ('stored', 'parked') and h.state = 'parked')
    or exists (select from onceward.held h where h.consumer_id = of and h.order_key = b.key and h.order_key is not null
      and h.id <= b.released_to and h.state = 'quarantined')));
begin
  insert into onceward.blocked_key as b (consumer_id, key, waiting)
    select of, put.key, put.behind from unnest(keys, behind) as put (key, behind) order by put.key
  on conflict (consumer_id, key) do update set state = 'parked', released_to = case when b.key = any (again) then null else b.released_to end,
    waiting = case when b.state = 'released' then 0 else b.waiting end + excluded.waiting;
  with put as (
    update onceward.held h set state = 'parked', due_at = null, lease_until = null, failure_class = 'order', code = 'behind_parked',
      reason = 'an earlier message of its key is parked'
    where h.consumer_id = of and h.order_key = any (again) and h.order_key is not null and h.state = 'stored'
      and (h.lease_until is null or h.lease_until <= clock_timestamp())
    returning h.message_id, h.order_key),
  marked as (
    update onceward.inbox i set status = 'parked' from (select of as consumer_id, put.message_id from put offset 0) m
    where i.consumer_id = any (array[m.consumer_id]) and i.message_id = any (array[m.message_id]))
  update onceward.blocked_key b set waiting = b.waiting + n.count
  from (select order_key, count(*)::integer from put group by order_key) n where b.consumer_id = of and b.key = n.order_key;
end $$;
`
