/**
 * Keys whose messages wait in order. Rows wait only for rows with a smaller id, by order key and by business
 * key alike, so no two rows wait for each other.
 */
export const blockedKeys = `
-- A key with a parked message, the head; later messages of the key are parked behind it. While the state is
-- parked, the key waits for an operator. Once it is released, workers lease its rows. New messages of the key
-- wait at the source, or behind the remaining rows, until the key is empty and sweep_keys removes it.
create table onceward.blocked_key (
  consumer_id integer not null,
  key         text collate "C" not null,
  since       timestamptz not null default clock_timestamp(),
  state       text not null default 'parked' check (state in ('parked', 'released')),
  -- Number of rows parked behind the head.
  waiting     integer not null default 0,
  -- Set for a key that stays parked: rows up to this id were released and may be processed. Null if none
  -- were.
  released_to bigint,
  primary key (consumer_id, key)
);

-- Releases the parked rows of these keys in order, up to the first row that may not be released. That row
-- becomes the head of its key, with the reason, and new rows are parked behind it. The blocked key is locked
-- first: a process that is appending a row is waited for, and its row is then included.
create function onceward.release_keys(of_consumer integer, keys text[], past_quarantined boolean)
  returns bigint[]
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare picked bigint[]; freed bigint[]; heads bigint[]; whys text[];
begin
  perform from onceward.blocked_key b where b.consumer_id = of_consumer and b.key = any (keys)
    order by b.key for update;
  picked := array(
    select h.id from onceward.held h
    where h.consumer_id = of_consumer and h.order_key = any (keys) and h.order_key is not null
      and h.state in ('stored', 'parked') and h.state = 'parked' and (past_quarantined or not exists (
        select from onceward.held q
        where q.consumer_id = of_consumer and q.order_key = h.order_key and q.order_key is not null
          and q.state = 'quarantined' and q.id < h.id))
    order by h.id);
  with ruled as materialized (select * from onceward.release_rows(of_consumer, picked, false)),
  first as (select distinct on (r.order_key) r.id, r.why from ruled r where r.why is not null
    order by r.order_key, r.id)
  select coalesce((select array_agg(r.id order by r.id) from ruled r where r.why is null), '{}'),
    array_agg(f.id), array_agg(f.why)
  into freed, heads, whys from first f;
  update onceward.held h set failure_class = 'order', code = 'held_back', reason = s.why
    from unnest(heads, whys) as s (id, why) where h.id = s.id and h.code = 'behind_parked';
  update onceward.blocked_key b
  set state = case when stop.id is null then 'released' else 'parked' end, released_to = stop.id - 1
  from unnest(keys) as k (key)
  left join lateral (
    select min(s.id) as id from (
      (select h.id from onceward.held h
        where h.consumer_id = of_consumer and h.order_key = k.key and h.order_key is not null
          and h.state in ('stored', 'parked') and h.state = 'parked' order by h.id limit 1)
      union all
      (select h.id from onceward.held h
        where not past_quarantined and h.consumer_id = of_consumer and h.order_key = k.key
          and h.order_key is not null and h.state = 'quarantined' order by h.id limit 1)) s) stop on true
  where b.consumer_id = of_consumer and b.key = k.key;
  return freed;
end $$;

create function onceward.unblock_keys(of_consumer integer, keys text[]) returns bigint[]
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  return onceward.release_keys(of_consumer, keys, false);
end $$;

-- Called with the keys of the messages that a batch parked. Rows behind a released key that no worker has are
-- parked again. If only a part of the key was released, this happens only when a row of that part is parked
-- again.
create function onceward.block_keys(of_consumer integer, keys text[], behind integer[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare again text[] := array(
  select b.key from onceward.blocked_key b
  where b.consumer_id = of_consumer and b.key = any (keys) and (b.state = 'released'
    or exists (
      select from onceward.held h where h.consumer_id = of_consumer and h.order_key = b.key
        and h.order_key is not null
        and h.id <= b.released_to and h.state in ('stored', 'parked') and h.state = 'parked')
    or exists (
      select from onceward.held h where h.consumer_id = of_consumer and h.order_key = b.key
        and h.order_key is not null
        and h.id <= b.released_to and h.state = 'quarantined')));
begin
  insert into onceward.blocked_key as b (consumer_id, key, waiting)
    select of_consumer, put.key, put.behind from unnest(keys, behind) as put (key, behind) order by put.key
  on conflict (consumer_id, key) do update set state = 'parked',
    released_to = case when b.key = any (again) then null else b.released_to end,
    waiting = case when b.state = 'released' then 0 else b.waiting end + excluded.waiting;
  with put as (
    update onceward.held h set state = 'parked', due_at = null, lease_until = null, failure_class = 'order',
      code = 'behind_parked', reason = 'an earlier message of its key is parked'
    where h.consumer_id = of_consumer and h.order_key = any (again) and h.order_key is not null
      and h.state = 'stored'
      and (h.lease_until is null or h.lease_until <= clock_timestamp())
    returning h.message_id, h.order_key),
  marked as (
    update onceward.inbox i set status = 'parked'
    from (select of_consumer as consumer_id, put.message_id from put offset 0) m
    where i.consumer_id = any (array[m.consumer_id]) and i.message_id = any (array[m.message_id]))
  update onceward.blocked_key b set waiting = b.waiting + n.count
  from (select order_key, count(*)::integer from put group by order_key) n
  where b.consumer_id = of_consumer and b.key = n.order_key;
end $$;

-- Called by processes that run workers: a released key without rows becomes live. Two statements on purpose:
-- the second one sees rows that were appended while the first one waited for the lock.
create function onceward.sweep_keys(of_consumer integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare keys text[]; freed integer;
begin
  keys := array(select key from onceward.blocked_key where consumer_id = of_consumer and state = 'released'
    order by key limit 1000 for update skip locked);
  delete from onceward.blocked_key b where b.consumer_id = of_consumer and b.key = any (keys) and not exists (
    select from onceward.held h where h.consumer_id = of_consumer and h.order_key = b.key
      and h.order_key is not null
      and h.state in ('stored', 'parked'));
  get diagnostics freed = row_count;
  return cardinality(keys) - freed;
end $$;

-- Called in the transaction in which the holders of these business keys end, after it has changed the keys. A
-- key that was given back goes to the first message that waits for it, before any later message. A key that
-- is used up releases all of them: they are duplicates or conflicts. Rows under a lease are skipped: their
-- worker asks for the key itself.
create function onceward.end_key_waits(of_consumer integer, keys text[], holders text[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare heirs bigint[]; woken bigint[]; freed bigint[]; turns text[];
begin
  with first as materialized (
    select e.key, e.holder, w.* from unnest(keys, holders) as e (key, holder)
    cross join lateral (
      select h.id, h.message_id, h.key_digest, h.run_id from onceward.held h
      where h.consumer_id = of_consumer and h.business_key = e.key and h.keyless and h.message_id is not null
        and h.message_id <> e.holder and h.state in ('stored', 'waiting', 'parked') order by h.id limit 1) w),
  put as (
    insert into onceward.business_key (consumer_id, key, message_id, digest)
    select of_consumer, f.key, f.message_id, f.key_digest from first f order by f.key
    on conflict do nothing returning key),
  noted as (
    insert into onceward.note as n (consumer_id, message_id, code, detail, at, run_id, held_id)
    select of_consumer, f.message_id, 'has its business key',
      'message ' || f.holder || ' ended without an effect',
      clock_timestamp(), f.run_id, f.id
    from first f join put using (key)
    on conflict (consumer_id, message_id, code) do update
      set times = n.times + 1, last_at = excluded.at, detail = excluded.detail)
  select coalesce(array_agg(f.id), '{}') into heirs from first f join put using (key);
  update onceward.held h set keyless = false where h.id = any (heirs);
  woken := heirs || array(
    select h.id from unnest(keys, holders) as e (key, holder)
    join onceward.business_key k on k.consumer_id = of_consumer and k.key = e.key and k.message_id = e.holder
    cross join lateral (
      select w.id from onceward.held w
      where w.consumer_id = of_consumer and w.business_key = e.key and w.keyless
        and w.message_id <> e.holder) h);
  update onceward.held h set due_at = clock_timestamp() where h.id = any (array(
    select s.id from onceward.held s
    where s.id = any (woken) and s.state = 'stored' and s.due_at > clock_timestamp()
    for update skip locked));
  woken := array(select h.id from onceward.held h where h.id = any (woken) and h.state = 'parked'
    order by h.id);
  if cardinality(woken) = 0 then return; end if;
  select coalesce(array_agg(r.id), '{}') into freed from onceward.release_rows(of_consumer, woken, true) r
    where r.why is null;
  turns := array(select distinct h.order_key from onceward.held h
    where h.id = any (freed) and h.order_key is not null);
  if cardinality(turns) > 0 then perform onceward.unblock_keys(of_consumer, turns); end if;
end $$;
`
