/** Campaigns on parked rows while they run, and campaigns that apply messages which operators gave up. */
export const campaignOnParked = `
-- Releases the keys in which the campaign has no more rows and that no row blocks: the live consumer
-- continues with the rows behind.
create function onceward.unblock_after_campaign(campaign bigint, of_consumer integer, keys text[])
  returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare free text[];
begin
  perform from onceward.blocked_key b where b.consumer_id = of_consumer and b.key = any (keys)
    order by b.key for update;
  free := array(
    select key from unnest(keys) as key where key is not null and not exists (
      select from onceward.held h left join onceward.campaign_row r on r.campaign_id = campaign
        and r.held_id = h.id and r.state = 'open'
      where h.consumer_id = of_consumer and h.order_key = key and h.order_key is not null
        and h.state in ('stored', 'parked') and h.state = 'parked'
        and (h.code <> 'behind_parked' or r.held_id is not null))
    and not exists (
      select from onceward.held h where h.consumer_id = of_consumer and h.order_key = key
        and h.order_key is not null
        and h.state = 'quarantined'));
  if cardinality(free) > 0 then perform onceward.unblock_keys(of_consumer, free); end if;
end $$;

-- Leases the next rows of a campaign in order, and leaves rows that may not be taken, with the reason. A row
-- under a lease stays parked: the lease only keeps the campaign from taking it twice. The campaign has one
-- run of rows of a key at a time.
create function onceward.lease_parked(campaign bigint, of_consumer integer, fence integer, count_max integer,
  lease_ms float8)
returns setof onceward.held language plpgsql set search_path = pg_catalog, pg_temp as $$
declare window_ids bigint[]; free bigint[]; gone text[]; n_left integer;
begin
  perform from onceward.campaign_partition p
    where p.campaign_id = campaign and p.partition = 'parked' and p.epoch = fence for update;
  if not found then return; end if;
  window_ids := array(select r.held_id from onceward.campaign_row r
    where r.campaign_id = campaign and r.state = 'open' order by r.held_id limit 4 * count_max + 1000);

  with ruled as materialized (
    select j.id, j.order_key, coalesce(j.why,
      case when r.row_version <> onceward.row_version(h) then 'was changed after it was selected' end,
      case when ahead.id is not null
        then 'waits behind row ' || ahead.id || ', which a worker has leased' end)
      as why
    from onceward.judge_parked(window_ids, campaign) j
    join onceward.campaign_row r on r.campaign_id = campaign and r.held_id = j.id
    left join onceward.held h on h.id = j.id
    left join lateral (
      select e.id from onceward.held e
      where e.consumer_id = of_consumer and e.order_key = j.order_key and e.order_key is not null
        and e.state in ('stored', 'parked') and e.state = 'stored' and e.id < j.id limit 1) ahead on true),
  stops as materialized (
    select order_key, min(id) as id from ruled
    where why is not null and order_key is not null group by order_key),
  left_now as (
    update onceward.campaign_row r set state = 'left',
      why = coalesce(ruled.why, 'waits behind row ' || stops.id)
    from ruled left join stops on stops.order_key = ruled.order_key and stops.id < ruled.id
    where r.campaign_id = campaign and r.held_id = ruled.id
      and (ruled.why is not null or stops.id is not null)
    returning r.held_id, r.why, ruled.order_key),
  reported as (
    insert into onceward.campaign_finding (campaign_id, message_id, outcome, code, key, position, reason)
    select campaign, coalesce(h.message_id, 'row ' || l.held_id), 'left', 'left', l.order_key,
      'row ' || l.held_id, l.why
    from left_now l left join onceward.held h on h.id = l.held_id order by 2
    limit greatest(0, 1000 - (select count(*) from onceward.campaign_finding f
      where f.campaign_id = campaign))
    on conflict do nothing)
  select count(*), array_agg(distinct order_key) filter (where order_key is not null) into n_left, gone
    from left_now;
  if n_left > 0 then
    update onceward.campaign_partition p set next = (p.next::bigint + n_left)::text, at = clock_timestamp()
      where p.campaign_id = campaign and p.partition = 'parked';
    insert into onceward.campaign_outcome as o (campaign_id, outcome, count) values (campaign, 'left', n_left)
      on conflict (campaign_id, outcome) do update set count = o.count + excluded.count;
    perform onceward.unblock_after_campaign(campaign, of_consumer, coalesce(gone, '{}'));
  end if;

  free := array(select h.id from onceward.held h join onceward.campaign_row r on r.campaign_id = campaign
    and r.held_id = h.id
    where h.id = any (window_ids) and r.state = 'open'
      and (h.lease_until is null or h.lease_until <= clock_timestamp())
    order by h.id for update of h skip locked);
  return query
    with taken_by_others as materialized (
      select h.order_key, min(h.id) as id from onceward.held h
      join onceward.campaign_row r on r.campaign_id = campaign and r.held_id = h.id and r.state = 'open'
      where h.id = any (window_ids) and h.id <> all (free) and h.order_key is not null group by h.order_key)
    update onceward.held h set epoch = h.epoch + 1,
      lease_until = clock_timestamp() + lease_ms * interval '1 millisecond'
    where h.id = any (array(
      select c.id from onceward.held c left join taken_by_others t on t.order_key = c.order_key
      where c.id = any (free) and (t.id is null or c.id < t.id) order by c.id limit count_max))
    returning h.*;
end $$;

-- The first statement of a batch of the campaign. The blocked key is locked, as by every act of an operator.
-- Then the rows are judged again, with their markers and business keys inserted. Of several rows with one
-- business key the first one gets it. Returns the rows that no longer belong to the campaign.
create function onceward.begin_parked(campaign bigint, of_consumer integer, ids bigint[], epochs integer[])
returns bigint[] language plpgsql set search_path = pg_catalog, pg_temp as $$
declare keys text[]; lost bigint[];
begin
  perform current_setting('onceward.run');
  keys := array(select distinct h.order_key from onceward.held h
    where h.id = any (ids) and h.order_key is not null order by 1);
  perform from onceward.blocked_key b where b.consumer_id = of_consumer and b.key = any (keys)
    order by b.key for update;
  perform from onceward.held h where h.id = any (ids) order by h.id for update;
  lost := array(
    select m.id from unnest(ids, epochs) as m (id, epoch)
    left join onceward.held h on h.id = m.id and h.epoch = m.epoch
    left join onceward.campaign_row r on r.campaign_id = campaign and r.held_id = m.id and r.state = 'open'
    where h.id is null or r.row_version is distinct from onceward.row_version(h)
      or exists (select from onceward.held e
        where e.consumer_id = of_consumer and e.order_key = h.order_key and e.order_key is not null
        and e.state in ('stored', 'parked') and e.state = 'stored' and e.id < h.id));
  if cardinality(lost) > 0 then return lost; end if;
  insert into onceward.business_key (consumer_id, key, message_id, digest)
    select of_consumer, h.business_key, h.message_id, h.key_digest from onceward.held h
    where h.id = any (ids) and h.business_key is not null and h.message_id is not null
      order by h.business_key, h.id on conflict do nothing;
  insert into onceward.inbox (consumer_id, run_id, status, message_id, digest, position)
    select of_consumer, h.run_id, h.state::text::onceward.marker_status, h.message_id, h.digest, h.position
    from onceward.held h join onceward.consumer c on c.id = of_consumer and c.dedup = 'marker'
    where h.id = any (ids) and h.message_id is not null and h.code <> 'conflict' order by h.message_id
      on conflict do nothing;
  lost := array(select j.id from onceward.judge_parked(ids, campaign) j where j.why is not null);
  if cardinality(lost) > 0 then return lost; end if;
  update onceward.blocked_key b set waiting = greatest(0, b.waiting - n.count)
  from (select h.order_key, count(*)::integer from onceward.held h
    where h.id = any (ids) and h.code = 'behind_parked' and h.order_key is not null group by h.order_key) n
  where b.consumer_id = of_consumer and b.key = n.order_key;
  return '{}';
end $$;

-- A cancelled campaign leaves no key without a head: rows that it has not reached wait for an operator as
-- before, or are released if no row is before them.
create function onceward.campaign_release() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
declare of_consumer integer; keys text[];
begin
  select c.id into of_consumer from onceward.consumer c
    where c.name = new.consumer_name and c.generation = new.generation;
  with gone as (
    update onceward.campaign_row r set state = 'left', why = 'the campaign was cancelled'
      where r.campaign_id = new.id and r.state = 'open'
    returning r.held_id)
  select array_agg(distinct h.order_key) into keys from gone join onceward.held h on h.id = gone.held_id
    where h.order_key is not null;
  if keys is not null then perform onceward.unblock_after_campaign(new.id, of_consumer, keys); end if;
  return null;
end $$;
create trigger campaign_release after update of state on onceward.campaign for each row
  when (new.state = 'cancelled' and old.state <> 'cancelled' and new.plan ? 'parked')
  execute function onceward.campaign_release();

-- Whether the decision of an operator is in force. A row that a rebuild closed has its effect, and was not
-- given up.
create function onceward.is_given_up(closed_as text, reopened_by bigint) returns boolean language sql stable
return closed_as in ('skipped', 'deleted') and not exists (
  select from onceward.campaign c
    where c.id = reopened_by and (c.mode <> 'rebuild' or c.state in ('swapped', 'finished')));

-- The other generations that consumed under the name of this one. A generation of a rebuild does not count:
-- messages skipped there concern its tables.
create function onceward.other_generations(of_consumer integer) returns integer[] language sql stable
return array(
  select o.id from onceward.consumer mine
  join onceward.consumer o on o.name = mine.name and o.id <> mine.id
  where mine.id = of_consumer and not exists (
    select from onceward.campaign c
    where c.consumer_name = o.name and c.generation = o.generation and c.mode = 'rebuild'));

-- Called in the transaction of the effects, with the messages that a campaign decided. Only a campaign that
-- was approved for it may apply messages which operators gave up. Other content that was given up under the
-- same id stays given up: the code of the row distinguishes it, because the campaign replaces the marker.
create function onceward.reopen_given_up(campaign bigint, ids text[], digests bytea[]) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare c onceward.campaign; taken text[];
begin
  select * into c from onceward.campaign k where k.id = reopen_given_up.campaign;
  if c.state is distinct from 'running' or c.mode = 'forensic'
    or c.selection -> 'includingSkipped' is distinct from 'true' then
    raise exception 'campaign % may not apply messages that operators gave up', reopen_given_up.campaign
      using errcode = 'insufficient_privilege'; end if;
  with asked as (select * from unnest(ids, digests) as a (id, digest)),
  reopened as (
    update onceward.closed_held x set reopened_by = c.id from asked
    where x.consumer_id in (
      select o.id from onceward.consumer o
        where o.name = c.consumer_name and o.generation in (c.generation, c.live_generation)
      union all select unnest(onceward.other_generations(o.id)) from onceward.consumer o
        where o.name = c.consumer_name and o.generation = c.live_generation)
      and (x.digest = asked.digest and (x.message_id = asked.id or x.message_id is null)
        or x.message_id = asked.id and x.record ->> 'code' is distinct from 'conflict')
      and x.reopened_by is distinct from c.id and onceward.is_given_up(x.closed_as, x.reopened_by)
    returning asked.id)
  select array_agg(distinct r.id order by r.id) into taken from reopened r;
  if taken is null then return 0; end if;
  perform onceward.audit_entry('parked reopen', 'done', c.consumer_name, array_to_string(taken[1:20], ' '),
    c.reason, jsonb_build_object('campaign', c.id, 'mode', c.mode, 'requestedBy', c.requested_by,
      'messages', to_jsonb(taken)));
  return cardinality(taken);
end $$;
`
