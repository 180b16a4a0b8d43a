/**
 * A message whose business key is held by another one that is not done waits for that one's end, as a row of its own. Rows wait only for rows with
 * a smaller number, by order key and by business key alike, so that waits form no circle. A key that is given back goes to the first that waits.
 */
export const keyWaits = `
-- keyless: its business key, if it has one, is not its own. A worker asks for the key before it applies the message. key_digest is the business
-- digest, of rows that hold their key too: whoever writes the key for the row writes the digest with it.
alter table onceward.held add column keyless boolean not null default false, add column key_digest bytea;
create index held_keyless on onceward.held (consumer_id, business_key, id) where keyless and business_key is not null;

create or replace function onceward.held_of(record jsonb, body bytea) returns onceward.held language plpgsql stable as $$
declare h onceward.held := jsonb_populate_record(null::onceward.held, record);
begin
  h.headers := (h.headers #>> '{}')::json;
  h.properties := (h.properties #>> '{}')::json;
  h.body := body;
  h.lease_until := null;
  h.mode := coalesce(h.mode, 'live');
  h.keyless := coalesce(h.keyless, false);
  return h;
end $$;

-- Who waits for a key is noted with its message, as what is set aside is: the row that says so goes with the wait.
create or replace function onceward.note_set_aside() returns trigger language plpgsql as $$
begin
  insert into onceward.note as n (consumer_id, message_id, code, detail, at, run_id, held_id)
  values (new.consumer_id, new.message_id,
    case when new.state in ('parked', 'dead', 'quarantined') then new.state::text else 'waits for its business key' end,
    case when new.state in ('parked', 'dead', 'quarantined') then concat_ws(': ', nullif(new.code, ''), new.reason)
      else coalesce((select 'message ' || k.message_id || ' holds it and is not done' from onceward.business_key k
        where k.consumer_id = new.consumer_id and k.key = new.business_key), 'another message held it') end,
    clock_timestamp(), new.run_id, new.id)
  on conflict (consumer_id, message_id, code) do update
    set times = n.times + 1, last_at = excluded.at, detail = excluded.detail, run_id = excluded.run_id, held_id = excluded.held_id;
  return null;
end $$;
drop trigger noted on onceward.held;
create trigger noted after insert on onceward.held for each row
  when (new.message_id is not null and (new.state in ('parked', 'dead', 'quarantined') or (new.keyless and new.business_key is not null)))
  execute function onceward.note_set_aside();

-- A row that waits for its business key may go when the holder is done, at work, or goes with it.
create or replace function onceward.judge_parked(picked bigint[], taken_by bigint default null, in_order boolean default true)
returns table (id bigint, order_key text, why text) language sql stable as $$
  select p.id, h.order_key, case
    when h.id is null then 'done, or decided by somebody else'
    when h.state not in ('parked', 'dead', 'quarantined') then 'at work already'
    when m.status not in ('parked', 'dead', 'quarantined') then 'its message id is ' || m.status || ' already'
    when m.digest <> h.digest then 'its message id belongs to other content'
    when m.message_id is null and h.code = 'conflict' then 'its message id belonged to other content, of which the marker is removed'
    when k.message_id <> h.message_id and not h.keyless then 'its business key was used by message ' || k.message_id
    when k.message_id <> h.message_id and holder.status in ('parked', 'dead', 'quarantined') and not exists (
      select from onceward.held a where a.id = any (picked) and a.consumer_id = h.consumer_id and a.message_id = k.message_id)
    then 'waits for its business key, which message ' || k.message_id || ' holds'
    when before.id is not null then 'waits behind number ' || before.id
    else coalesce(case when taken_by is null and h.campaign_id is not null then onceward.judge_origin(h.campaign_id) end,
      onceward.fix_waits(h.id))
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
    where in_order and e.consumer_id = h.consumer_id and e.order_key = h.order_key and e.order_key is not null and e.id < h.id
      and e.id <> all (picked) and e.state in ('stored', 'parked') and e.state = 'parked'
    union all
    select e.id from onceward.held e
    where in_order and e.consumer_id = h.consumer_id and e.order_key = h.order_key and e.order_key is not null and e.id < h.id
      and e.id <> all (picked) and e.state = 'quarantined'
    limit 1) before on true;
$$;

-- As before (migration 13); a waiting row that finds its key free takes it with its digest, and is no longer keyless once it goes.
create or replace function onceward.let_go(of integer, picked bigint[], in_order boolean)
returns table (id bigint, order_key text, why text) language plpgsql
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare claimed text[]; gone bigint[]; ruled_ids bigint[]; ruled_keys text[]; ruled_whys text[];
begin
  perform from onceward.blocked_key b where b.consumer_id = of and b.key = any (array(
    select distinct h.order_key from onceward.held h where h.id = any (picked) and h.order_key is not null)) order by b.key for update;
  perform from onceward.held h where h.id = any (picked) order by h.id for update;
  with put as (
    insert into onceward.business_key (consumer_id, key, message_id, digest)
      select of, h.business_key, h.message_id, h.key_digest from onceward.held h
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
  update onceward.held h set state = 'stored', due_at = clock_timestamp(), last_at = clock_timestamp(), lease_until = null,
    keyless = h.keyless and not exists (select from onceward.business_key k
      where k.consumer_id = of and k.key = h.business_key and k.message_id = h.message_id)
    where h.id = any (gone);
  return query select * from unnest(ruled_ids, ruled_keys, ruled_whys);
end $$;

-- As before (migration 13); the keys are taken with their digests, and of several rows with one key by the first.
create or replace function onceward.take_up_parked(campaign bigint, of integer, ids bigint[], epochs integer[])
returns bigint[] language plpgsql set search_path = pg_catalog, pg_temp as $$
declare keys text[]; lost bigint[];
begin
  perform current_setting('onceward.run');
  keys := array(select distinct h.order_key from onceward.held h where h.id = any (ids) and h.order_key is not null order by 1);
  perform from onceward.blocked_key b where b.consumer_id = of and b.key = any (keys) order by b.key for update;
  perform from onceward.held h where h.id = any (ids) order by h.id for update;
  lost := array(
    select m.id from unnest(ids, epochs) as m (id, epoch)
    left join onceward.held h on h.id = m.id and h.epoch = m.epoch
    left join onceward.campaign_row r on r.campaign_id = campaign and r.held_id = m.id and r.state = 'open'
    where h.id is null or r.seen is distinct from onceward.seen_of(h)
      or exists (select from onceward.held e where e.consumer_id = of and e.order_key = h.order_key and e.order_key is not null
        and e.state in ('stored', 'parked') and e.state = 'stored' and e.id < h.id));
  if cardinality(lost) > 0 then return lost; end if;
  insert into onceward.business_key (consumer_id, key, message_id, digest)
    select of, h.business_key, h.message_id, h.key_digest from onceward.held h
    where h.id = any (ids) and h.business_key is not null and h.message_id is not null order by h.business_key, h.id on conflict do nothing;
  insert into onceward.inbox (consumer_id, run_id, status, message_id, digest, position)
    select of, h.run_id, h.state::text::onceward.marker_status, h.message_id, h.digest, h.position
    from onceward.held h join onceward.consumer c on c.id = of and c.dedup = 'marker'
    where h.id = any (ids) and h.message_id is not null and h.code <> 'conflict' order by h.message_id on conflict do nothing;
  lost := array(select j.id from onceward.judge_parked(ids, campaign) j where j.why is not null);
  if cardinality(lost) > 0 then return lost; end if;
  update onceward.blocked_key b set waiting = greatest(0, b.waiting - n.count)
  from (select h.order_key, count(*)::integer from onceward.held h
    where h.id = any (ids) and h.code = 'behind_parked' and h.order_key is not null group by h.order_key) n
  where b.consumer_id = of and b.key = n.order_key;
  return '{}';
end $$;

-- Called by the transaction in which holders of these keys end, after what it does to the keys. A key that was given back goes to the first
-- message that waits for it, which takes its turn: nobody who comes meanwhile is before it. A key that is used up lets all of them go: they are
-- duplicates, or conflicts. Rows that a worker has at this moment are skipped: it asks for the key by itself.
create function onceward.end_key_waits(of integer, keys text[], holders text[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare heirs bigint[]; woken bigint[]; freed bigint[]; turns text[];
begin
  with first as materialized (
    select e.key, e.holder, w.* from unnest(keys, holders) as e (key, holder)
    cross join lateral (
      select h.id, h.message_id, h.key_digest, h.run_id from onceward.held h
      where h.consumer_id = of and h.business_key = e.key and h.keyless and h.message_id is not null and h.message_id <> e.holder
        and h.state in ('stored', 'waiting', 'parked') order by h.id limit 1) w),
  put as (
    insert into onceward.business_key (consumer_id, key, message_id, digest)
    select of, f.key, f.message_id, f.key_digest from first f order by f.key on conflict do nothing returning key),
  noted as (
    insert into onceward.note as n (consumer_id, message_id, code, detail, at, run_id, held_id)
    select of, f.message_id, 'has its business key', 'message ' || f.holder || ' ended without an effect', clock_timestamp(), f.run_id, f.id
    from first f join put using (key)
    on conflict (consumer_id, message_id, code) do update set times = n.times + 1, last_at = excluded.at, detail = excluded.detail)
  select coalesce(array_agg(f.id), '{}') into heirs from first f join put using (key);
  update onceward.held h set keyless = false where h.id = any (heirs);
  woken := heirs || array(
    select h.id from unnest(keys, holders) as e (key, holder)
    join onceward.business_key k on k.consumer_id = of and k.key = e.key and k.message_id = e.holder
    cross join lateral (
      select w.id from onceward.held w where w.consumer_id = of and w.business_key = e.key and w.keyless and w.message_id <> e.holder) h);
  update onceward.held h set due_at = clock_timestamp() where h.id = any (array(
    select s.id from onceward.held s where s.id = any (woken) and s.state = 'stored' and s.due_at > clock_timestamp() for update skip locked));
  woken := array(select h.id from onceward.held h where h.id = any (woken) and h.state = 'parked' order by h.id);
  if cardinality(woken) = 0 then return; end if;
  select coalesce(array_agg(r.id), '{}') into freed from onceward.let_go(of, woken, true) r where r.why is null;
  turns := array(select distinct h.order_key from onceward.held h where h.id = any (freed) and h.order_key is not null);
  if cardinality(turns) > 0 then perform onceward.free_keys(of, turns); end if;
end $$;

-- As before (migration 3); what waits for the business keys of the rows goes on.
create or replace function onceward.close_rows(of integer, ids bigint[], way text, because text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare keys text[]; closed integer; freed bigint[]; ended text[]; enders text[];
begin
  keys := array(select distinct h.order_key from onceward.held h where h.id = any (ids) and h.order_key is not null order by 1);
  perform from onceward.blocked_key b where b.consumer_id = of and b.key = any (keys) order by b.key for update;
  select array_agg(k.key), array_agg(k.message_id) into ended, enders
    from onceward.held h join onceward.business_key k on k.consumer_id = of and k.key = h.business_key and k.message_id = h.message_id
    where h.id = any (ids) and exists (
      select from onceward.held w where w.consumer_id = of and w.business_key = k.key and w.keyless and w.business_key is not null);
  with gone as (
    delete from onceward.held h where h.id = any (ids) and h.state in ('parked', 'dead', 'quarantined')
    returning h.*, onceward.record_of(h) as record),
  unmarked as (
    update onceward.inbox i set status = 'ignored' from (select of as consumer_id, gone.message_id, gone.digest from gone offset 0) m
    where i.consumer_id = any (array[m.consumer_id]) and i.message_id = any (array[m.message_id]) and i.digest = m.digest
      and i.status in ('parked', 'dead', 'quarantined')),
  unkeyed as (
    delete from onceward.business_key k using gone
    where k.consumer_id = of and k.key = gone.business_key and k.message_id = gone.message_id
      -- Other content under the id of a message that is applied or held: the key is that message's.
      and not exists (select from onceward.inbox i where i.consumer_id = of and i.message_id = gone.message_id
        and (i.digest <> gone.digest or i.status not in ('parked', 'dead', 'quarantined')))),
  made_room as (
    update onceward.blocked_key b set waiting = greatest(0, b.waiting - n.count)
    from (select order_key, count(*)::integer from gone where code = 'behind_parked' and order_key is not null group by order_key) n
    where b.consumer_id = of and b.key = n.order_key),
  settled as (
    update onceward.redrive_row r set outcome = way from gone where r.held_id = gone.id and r.state = 'moved' and r.outcome is null)
  insert into onceward.closed_held (held_id, consumer_id, message_id, digest, how, reason, record, body)
  select gone.id, of, gone.message_id, gone.digest, way, because, gone.record, case when way = 'skipped' then gone.body end from gone;
  get diagnostics closed = row_count;
  keys := array(
    select key from unnest(keys) as key where not exists (
      select from onceward.held h where h.consumer_id = of and h.order_key = key and h.order_key is not null
        and h.state in ('stored', 'parked') and h.state = 'parked' and h.code <> 'behind_parked')
    and not exists (
      select from onceward.held h where h.consumer_id = of and h.order_key = key and h.order_key is not null and h.state = 'quarantined'));
  freed := onceward.free_keys(of, keys);
  if ended is not null then perform onceward.end_key_waits(of, ended, enders); end if;
  return jsonb_build_object('ok', true, 'closed', closed, 'freed', cardinality(freed));
end $$;
revoke execute on function onceward.end_key_waits from public;

do $do$ begin
  if exists (select from pg_catalog.pg_namespace n, aclexplode(n.nspacl) a join pg_catalog.pg_roles r on r.oid = a.grantee
    where n.nspname = 'onceward' and r.rolname = 'onceward_operator') then
    perform onceward.create_roles();
  end if;
end $do$;
`
