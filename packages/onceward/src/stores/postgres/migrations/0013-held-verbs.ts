/** What people and campaigns do to held work, on the one judgement of `0013-held-origin.ts`. */
export const heldVerbs = `
-- One stage. The redrive's row is locked: two who run the same one take turns, and both keep to its rate. A row is judged in the transaction
-- that moves it; what may not be moved is left with the reason. Of a selection that was just written statistics know nothing: without the two
-- settings each stage read and sorted all that is still to come.
create or replace function onceward.redrive_stage(request text, count_max integer)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off as $$
declare drive onceward.redrive; picked bigint[]; ids bigint[]; whys text[]; gone bigint[]; keys text[]; n_moved integer; n_left integer;
  n_behind integer; more boolean; wait_ms float8;
begin
  select * into drive from onceward.redrive r where r.request_id = request for update;
  if not found then return onceward.refuse('parked replay', null, request, 'There is no such replay.'); end if;
  wait_ms := extract(epoch from drive.next_at - clock_timestamp()) * 1000;
  if drive.state <> 'moving' or wait_ms > 0 then
    return jsonb_build_object('ok', true, 'state', drive.state, 'moved', 0, 'behind', 0, 'left', 0, 'waitMs', greatest(0, ceil(wait_ms)));
  end if;
  picked := array(select held_id from onceward.redrive_row where redrive_id = drive.id and held_id > drive.done_to and state = 'selected'
    order by held_id limit least(count_max, drive.rate_max));
  select coalesce(array_agg(r.id), '{}'), coalesce(array_agg(r.why), '{}'), coalesce(array_agg(r.id) filter (where r.why is null), '{}')
    into ids, whys, gone from onceward.let_go(drive.consumer_id, picked, true) r;
  update onceward.redrive_row r
  set state = case when ruled.why is null then 'moved' else 'left' end, why = ruled.why, moved_at = clock_timestamp()
  from unnest(ids, whys) as ruled (id, why) where r.redrive_id = drive.id and r.held_id = ruled.id;

  drive.done_to := coalesce(picked[cardinality(picked)], drive.done_to);
  n_moved := cardinality(gone);
  n_left := cardinality(picked) - n_moved;
  update onceward.redrive_row set outcome = 'parked again' where held_id = any (gone) and redrive_id <> drive.id and state = 'moved'
    and outcome is null;
  keys := array(select distinct h.order_key from onceward.held h where h.id = any (gone) and h.order_key is not null);
  insert into onceward.redrive_row (redrive_id, held_id, message_id, behind, state, moved_at)
    select drive.id, h.id, h.message_id, true, 'moved', clock_timestamp()
    from unnest(onceward.free_keys(drive.consumer_id, keys)) as freed (id) join onceward.held h on h.id = freed.id
    on conflict (redrive_id, held_id) do update set state = 'moved', why = null, moved_at = clock_timestamp();
  get diagnostics n_behind = row_count;

  more := exists (select from onceward.redrive_row where redrive_id = drive.id and held_id > drive.done_to and state = 'selected');
  update onceward.redrive set done_to = drive.done_to, state = case when more then 'moving' else 'moved' end,
    next_at = clock_timestamp() + coalesce((n_moved + n_behind)::float8 / rate_max, 0) * interval '1 second'
  where id = drive.id returning * into drive;
  if not more then
    perform onceward.audit_entry('parked replay moved', 'done', (select name from onceward.consumer where id = drive.consumer_id), request,
      drive.reason, (select jsonb_build_object('moved', count(*) filter (where state = 'moved' and not behind),
        'behind', count(*) filter (where behind), 'left', count(*) filter (where state = 'left'))
        from onceward.redrive_row where redrive_id = drive.id));
  end if;
  return jsonb_build_object('ok', true, 'state', drive.state, 'moved', n_moved, 'behind', n_behind, 'left', n_left,
    'waitMs', greatest(0, ceil(extract(epoch from drive.next_at - clock_timestamp()) * 1000)));
end $$;

create or replace function onceward.redrive_stop(request text, because text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare drive onceward.redrive; of text;
begin
  if coalesce(btrim(because), '') = '' then return onceward.refuse('parked stop', null, request, 'Say why.'); end if;
  select * into drive from onceward.redrive r where r.request_id = request for update;
  if not found then return onceward.refuse('parked stop', null, request, 'There is no such replay.'); end if;
  select name into of from onceward.consumer where id = drive.consumer_id;
  if drive.state <> 'moving' then
    return onceward.refuse('parked stop', of, request, 'This replay is ' || drive.state || ' already.'); end if;
  update onceward.redrive set state = 'stopped' where id = drive.id;
  perform onceward.audit_entry('parked stop', 'done', of, request, because);
  return jsonb_build_object('ok', true);
end $$;

-- Work made due by a person: a claim, wait or delay is ended; what is parked is tried once more with all of its key, past what is quarantined
-- under it, as far as it may go; of what is quarantined only the key is freed. A refusal undoes what was moved before it. seen is how often it
-- had been claimed when it was shown: a worker that took it since is not fenced by mistake.
drop function onceward.release_held(text, bigint, text);
create function onceward.release_held(consumer text, held bigint, seen integer, because text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare h onceward.held; of text; freed bigint[]; why text; subject text := held::text;
begin
  select c.name into of from onceward.held r join onceward.consumer c on c.id = r.consumer_id where r.id = held;
  if coalesce(btrim(because), '') = '' then return onceward.refuse('inbox release', of, subject, 'Say why it is released.'); end if;
  if of is null then
    return onceward.refuse('inbox release', consumer, subject, 'There is no held work with number ' || held || '; it may be done by now.'); end if;
  if of is distinct from consumer then
    return onceward.refuse('inbox release', of, subject, format('Number %s is not of consumer "%s".', held, consumer)); end if;
  perform from onceward.blocked_key b join onceward.held r on r.consumer_id = b.consumer_id and r.order_key = b.key
    where r.id = held for update of b;
  select * into h from onceward.held r where r.id = held for update;
  if not found then
    return onceward.refuse('inbox release', consumer, subject, 'There is no held work with number ' || held || '; it may be done by now.'); end if;
  if h.epoch is distinct from seen then
    return onceward.refuse('inbox release', of, subject, format('Number %s is not as it was shown: it was claimed %s times by now.', held, h.epoch)); end if;
  if h.state = 'dead' or (h.state = 'quarantined' and h.order_key is null) then
    return onceward.refuse('inbox release', of, subject, 'Number ' || held || ' is ' || h.state || ': it is not safe to try it again by itself.'); end if;
  begin
    if h.state in ('parked', 'quarantined') and h.order_key is not null then
      freed := onceward.let_keys_go(h.consumer_id, array[h.order_key], true);
      if h.state = 'parked' and held <> all (freed) then
        select coalesce(j.why, 'waits behind a message of its key that may not go') into why
          from onceward.judge_parked(array[held], null, false) j;
      end if;
    elsif h.state = 'parked' then
      select r.why into why from onceward.let_go(h.consumer_id, array[held], true) r;
      freed := array[held];
    else
      why := case when h.state = 'waiting' then onceward.judge_origin(h.campaign_id) end;
      -- The epoch is raised: whoever has it now finishes nothing.
      update onceward.held r set due_at = clock_timestamp(), lease_until = null, epoch = r.epoch + 1 where r.id = held;
      freed := array[held];
    end if;
    if why is not null then raise exception using errcode = 'OW001', message = why; end if;
  exception when sqlstate 'OW001' then
    return onceward.refuse('inbox release', of, subject, 'Number ' || held || ' was not released: ' || why || '.');
  end;
  insert into onceward.held_action (held_id, because, did)
    select unnest(case when h.state = 'quarantined' then held || freed else freed end), because, 'released from ' || h.state;
  return jsonb_build_object('ok', true, 'released', cardinality(freed), 'from', h.state);
end $$;

-- Takes the next rows of a campaign in order, and leaves those that may not be taken, with the reason. A row under a lease stays parked: the lease
-- only keeps the campaign from taking it twice. Of a key one run of rows is out at a time.
create or replace function onceward.claim_parked(campaign bigint, of integer, fence integer, count_max integer, lease_ms float8)
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
    from onceward.judge_parked(window_ids, campaign) j
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
create or replace function onceward.take_up_parked(campaign bigint, of integer, ids bigint[], epochs integer[])
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
  lost := array(select j.id from onceward.judge_parked(ids, campaign) j where j.why is not null);
  if cardinality(lost) > 0 then return lost; end if;
  update onceward.blocked_key b set waiting = greatest(0, b.waiting - n.count)
  from (select h.order_key, count(*)::integer from onceward.held h
    where h.id = any (ids) and h.code = 'behind_parked' and h.order_key is not null group by h.order_key) n
  where b.consumer_id = of and b.key = n.order_key;
  return '{}';
end $$;

`
