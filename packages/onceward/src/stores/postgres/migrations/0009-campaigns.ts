/**
 * Campaigns on what is parked: the rows somebody selected, exactly as they were then. They stay parked while the campaign has them, so an operator
 * may act on any of them at any time; whoever commits first has it.
 */
export const campaigns = `
create table onceward.campaign_row (
  campaign_id bigint not null,
  held_id     bigint not null,
  -- What was selected: state, content and last fix.
  seen        text not null,
  state       text not null default 'open' check (state in ('open', 'done', 'left')),
  why         text,
  primary key (campaign_id, held_id)
) with (fillfactor = 80);

create function onceward.seen_of(h onceward.held) returns text language sql stable
return concat_ws(' ', (h).state, encode((h).digest, 'hex'), (select max(l.id) from onceward.lineage l where l.held_id = (h).id));

create function onceward.campaign_rows_digest(campaign bigint) returns text language sql stable
return (select encode(sha256(convert_to(coalesce(string_agg(r.held_id || ' ' || r.seen, ',' order by r.held_id), ''), 'UTF8')), 'hex')
  from onceward.campaign_row r where r.campaign_id = campaign);

-- The plan that was approved names the digest of the rows, so nobody adds one to them afterwards.
create function onceward.campaign_rows_guard() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $guard$
begin
  if onceward.campaign_rows_digest(new.id) is distinct from new.plan #>> '{parked,digest}' then
    raise exception 'the rows of campaign % are not those of its plan', new.id using errcode = 'insufficient_privilege';
  end if;
  return new;
end $guard$;
create trigger campaign_rows_guard before update of state on onceward.campaign for each row
  when (new.state = 'running' and old.state <> 'running' and new.plan ? 'parked') execute function onceward.campaign_rows_guard();

-- Nor while it runs, when nobody compares any more. The campaign is locked: who is about to run it is waited for.
create function onceward.campaign_rows_fixed() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $fixed$
declare late onceward.campaign;
begin
  perform from onceward.campaign c where c.id in (select campaign_id from added) order by c.id for no key update;
  select * into late from onceward.campaign c
    where c.id in (select campaign_id from added) and c.state not in ('created', 'previewed') limit 1;
  if found then
    raise exception 'campaign % is %: its rows are fixed', late.id, late.state using errcode = 'check_violation'; end if;
  return null;
end $fixed$;
create trigger campaign_rows_fixed after insert on onceward.campaign_row referencing new table as added
  for each statement execute function onceward.campaign_rows_fixed();

-- Keys of which the campaign has nothing more to do, and which nothing blocks: what waits behind goes on with the live consumer.
create function onceward.free_after_campaign(campaign bigint, of integer, keys text[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare free text[];
begin
  perform from onceward.blocked_key b where b.consumer_id = of and b.key = any (keys) order by b.key for update;
  free := array(
    select key from unnest(keys) as key where key is not null and not exists (
      select from onceward.held h left join onceward.campaign_row r on r.campaign_id = campaign and r.held_id = h.id and r.state = 'open'
      where h.consumer_id = of and h.order_key = key and h.order_key is not null and h.state in ('stored', 'parked') and h.state = 'parked'
        and (h.code <> 'behind_parked' or r.held_id is not null))
    and not exists (
      select from onceward.held h where h.consumer_id = of and h.order_key = key and h.order_key is not null and h.state = 'quarantined'));
  if cardinality(free) > 0 then perform onceward.free_keys(of, free); end if;
end $$;

-- Takes the next rows of a campaign in order, and leaves those that may not be taken, with the reason. A row under a lease stays parked: the lease
-- only keeps the campaign from taking it twice. Of a key one run of rows is out at a time.
create function onceward.claim_parked(campaign bigint, of integer, fence integer, count_max integer, lease_ms float8)
returns setof onceward.held language plpgsql as $$
declare window_ids bigint[]; free bigint[]; gone text[]; n_left integer;
begin
  perform from onceward.campaign_partition p where p.campaign_id = campaign and p.partition = 'parked' and p.epoch = fence for update;
  if not found then return; end if;
  window_ids := array(select r.held_id from onceward.campaign_row r where r.campaign_id = campaign and r.state = 'open'
    order by r.held_id limit 4 * count_max + 1000);

  with ruled as materialized (
    select j.id, j.order_key, coalesce(j.why, case when r.seen <> onceward.seen_of(h) then 'was changed after it was selected' end, case
      when ahead.id is not null then 'waits behind number ' || ahead.id || ', which a worker has' end) as why
    from onceward.judge_parked(window_ids) j
    join onceward.campaign_row r on r.campaign_id = campaign and r.held_id = j.id
    left join onceward.held h on h.id = j.id
    left join lateral (
      select e.id from onceward.held e where e.consumer_id = of and e.order_key = j.order_key and e.order_key is not null
        and e.state in ('stored', 'parked') and e.state = 'stored' and e.id < j.id limit 1) ahead on true),
  stops as materialized (
    select order_key, min(id) as id from ruled where why is not null and order_key is not null group by order_key),
  left_now as (
    update onceward.campaign_row r set state = 'left', why = coalesce(ruled.why, 'waits behind number ' || stops.id)
    from ruled left join stops on stops.order_key = ruled.order_key and stops.id < ruled.id
    where r.campaign_id = campaign and r.held_id = ruled.id and (ruled.why is not null or stops.id is not null)
    returning r.held_id, r.why, ruled.order_key),
  told as (
    insert into onceward.campaign_finding (campaign_id, message_id, outcome, code, key, position, reason)
    select campaign, coalesce(h.message_id, 'number ' || l.held_id), 'left', 'left', l.order_key, 'number ' || l.held_id, l.why
    from left_now l left join onceward.held h on h.id = l.held_id order by 2
    limit greatest(0, 1000 - (select count(*) from onceward.campaign_finding f where f.campaign_id = campaign))
    on conflict do nothing)
  select count(*), array_agg(distinct order_key) filter (where order_key is not null) into n_left, gone from left_now;
  if n_left > 0 then
    update onceward.campaign_partition p set next = (p.next::bigint + n_left)::text, at = clock_timestamp()
      where p.campaign_id = campaign and p.partition = 'parked';
    insert into onceward.campaign_outcome as o (campaign_id, outcome, count) values (campaign, 'left', n_left)
      on conflict (campaign_id, outcome) do update set count = o.count + excluded.count;
    perform onceward.free_after_campaign(campaign, of, coalesce(gone, '{}'));
  end if;

  free := array(select h.id from onceward.held h join onceward.campaign_row r on r.campaign_id = campaign and r.held_id = h.id
    where h.id = any (window_ids) and r.state = 'open' and (h.lease_until is null or h.lease_until <= clock_timestamp())
    order by h.id for update of h skip locked);
  return query
    with taken_by_others as materialized (
      select h.order_key, min(h.id) as id from onceward.held h
      join onceward.campaign_row r on r.campaign_id = campaign and r.held_id = h.id and r.state = 'open'
      where h.id = any (window_ids) and h.id <> all (free) and h.order_key is not null group by h.order_key)
    update onceward.held h set epoch = h.epoch + 1, lease_until = clock_timestamp() + lease_ms * interval '1 millisecond'
    where h.id = any (array(
      select c.id from onceward.held c left join taken_by_others t on t.order_key = c.order_key
      where c.id = any (free) and (t.id is null or c.id < t.id) order by c.id limit count_max))
    returning h.*;
end $$;

-- The first statement of a campaign's batch. The blocked key is the mutex, as it is for every act of an operator; what stands after it is judged
-- once more, with what it needs written beside it. Answers with the rows that are not the campaign's any more.
create function onceward.take_up_parked(campaign bigint, of integer, ids bigint[], epochs integer[])
returns bigint[] language plpgsql as $$
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
  insert into onceward.business_key (consumer_id, key, message_id)
    select of, h.business_key, h.message_id from onceward.held h
    where h.id = any (ids) and h.business_key is not null and h.message_id is not null order by h.business_key on conflict do nothing;
  insert into onceward.inbox (consumer_id, run_id, status, message_id, digest, position)
    select of, h.run_id, h.state::text::onceward.marker_status, h.message_id, h.digest, h.position
    from onceward.held h join onceward.consumer c on c.id = of and c.dedup = 'marker'
    where h.id = any (ids) and h.message_id is not null and h.code <> 'conflict' order by h.message_id on conflict do nothing;
  lost := array(select j.id from onceward.judge_parked(ids) j where j.why is not null);
  if cardinality(lost) > 0 then return lost; end if;
  update onceward.blocked_key b set waiting = greatest(0, b.waiting - n.count)
  from (select h.order_key, count(*)::integer from onceward.held h
    where h.id = any (ids) and h.code = 'behind_parked' and h.order_key is not null group by h.order_key) n
  where b.consumer_id = of and b.key = n.order_key;
  return '{}';
end $$;

-- Given up, a campaign leaves no key without a head: what it has not come to waits for people as before, or goes on where nothing is before it.
create function onceward.campaign_let_go() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare of integer; keys text[];
begin
  select c.id into of from onceward.consumer c where c.name = new.consumer_name and c.generation = new.generation;
  with gone as (
    update onceward.campaign_row r set state = 'left', why = 'the campaign was cancelled' where r.campaign_id = new.id and r.state = 'open'
    returning r.held_id)
  select array_agg(distinct h.order_key) into keys from gone join onceward.held h on h.id = gone.held_id where h.order_key is not null;
  if keys is not null then perform onceward.free_after_campaign(new.id, of, keys); end if;
  return null;
end $$;
create trigger campaign_let_go after update of state on onceward.campaign for each row
  when (new.state = 'cancelled' and old.state <> 'cancelled' and new.plan ? 'parked') execute function onceward.campaign_let_go();
`
