/** What may be done to parked work. Whoever calls these needs no right on the tables: the rules cannot be walked around. */
export const parkingVerbs = `
-- Blocking heads that are quarantined: the index of keyed work has only what is stored or parked.
create index held_quarantined_keys on onceward.held (consumer_id, order_key, id) where state = 'quarantined' and order_key is not null;

create function onceward.selection_digest(ids bigint[]) returns bytea language sql stable
return (
  select sha256(convert_to(coalesce(string_agg(concat_ws(' ', h.id, h.state, encode(h.digest, 'hex'), (
    select max(l.id) from onceward.lineage l where l.held_id = h.id)), ',' order by h.id), ''), 'UTF8'))
  from onceward.held h where h.id = any (ids) and h.state in ('parked', 'dead', 'quarantined'));

-- The one consumer of this name that all the rows belong to; null when a row is missing or a stranger's.
create function onceward.selected_consumer(ids bigint[], named text) returns integer language sql stable
return (
  select case when count(*) = cardinality(ids) and count(distinct c.id) = 1 and bool_and(c.name = named) then min(c.id) end
  from onceward.held h join onceward.consumer c on c.id = h.consumer_id where h.id = any (ids));

-- Everything parked under these keys becomes work, in order; what comes meanwhile goes behind it. The blocked key is locked first: who is about
-- to append is waited for, and its row is then among these.
-- Here and below markers are compared with lists of one: those are looked up, where a join may read all the markers there are.
create function onceward.free_keys(of integer, keys text[]) returns bigint[]
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare freed bigint[];
begin
  perform from onceward.blocked_key b where b.consumer_id = of and b.key = any (keys) order by b.key for update;
  with moved as (
    update onceward.held h set state = 'stored', due_at = clock_timestamp(), last_at = clock_timestamp(), lease_until = null
    where h.consumer_id = of and h.order_key = any (keys) and h.order_key is not null and h.state = 'parked'
    returning h.id, h.message_id),
  marked as (
    update onceward.inbox i set status = 'stored' from (select of as consumer_id, moved.message_id from moved offset 0) m
    where i.consumer_id = any (array[m.consumer_id]) and i.message_id = any (array[m.message_id]))
  select coalesce(array_agg(id order by id), '{}') into freed from moved;
  update onceward.blocked_key b set state = 'released' where b.consumer_id = of and b.key = any (keys);
  return freed;
end $$;

-- Called with what a batch has parked. Under a key that was released, what is behind and nobody works on waits for people again.
create function onceward.block_keys(of integer, keys text[], behind integer[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare again text[] := array(
  select b.key from onceward.blocked_key b where b.consumer_id = of and b.key = any (keys) and b.state = 'released');
begin
  insert into onceward.blocked_key as b (consumer_id, key, waiting)
    select of, put.key, put.behind from unnest(keys, behind) as put (key, behind) order by put.key
  on conflict (consumer_id, key) do update set state = 'parked',
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

-- Called by whoever runs workers: a released key with nothing left is live again. Two statements on purpose: who appended while we waited for
-- the lock is seen by the second.
create function onceward.sweep_keys(of integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare keys text[]; freed integer;
begin
  keys := array(select key from onceward.blocked_key where consumer_id = of and state = 'released' order by key limit 1000 for update skip locked);
  delete from onceward.blocked_key b where b.consumer_id = of and b.key = any (keys) and not exists (
    select from onceward.held h where h.consumer_id = of and h.order_key = b.key and h.order_key is not null and h.state in ('stored', 'parked'));
  get diagnostics freed = row_count;
  return cardinality(keys) - freed;
end $$;

create function onceward.redrive_start(request text, consumer text, ids bigint[], seen bytea, per_second integer, because text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare known onceward.redrive; of integer; mine bigint;
begin
  perform pg_advisory_xact_lock(hashtext('onceward.redrive'), hashtext(request));
  select * into known from onceward.redrive r where r.request_id = request;
  if found then
    if known.digest is distinct from seen then
      return onceward.refuse('parked replay', consumer, request, 'This request id was used for another selection.'); end if;
    if known.state = 'stopped' then
      update onceward.redrive set state = 'moving', next_at = clock_timestamp() where id = known.id;
      perform onceward.audit_entry('parked replay', 'done', consumer, request, because, '{"resumed": true}');
    end if;
    return jsonb_build_object('ok', true, 'known', true);
  end if;
  if coalesce(btrim(because), '') = '' then return onceward.refuse('parked replay', consumer, request, 'Say why.'); end if;
  of := onceward.selected_consumer(ids, consumer);
  if of is null then
    return onceward.refuse('parked replay', consumer, request, 'Not all of these rows are there and of this consumer.'); end if;
  if onceward.selection_digest(ids) is distinct from seen then
    return onceward.refuse('parked replay', consumer, request, 'The selection has changed since it was shown.'); end if;
  insert into onceward.redrive (request_id, consumer_id, reason, digest, rate_max) values (request, of, because, seen, per_second)
    returning id into mine;
  insert into onceward.redrive_row (redrive_id, held_id, message_id) select mine, h.id, h.message_id from onceward.held h where h.id = any (ids);
  perform onceward.audit_entry('parked replay', 'done', consumer, request, because,
    jsonb_build_object('rows', cardinality(ids), 'digest', encode(seen, 'hex'), 'perSecond', per_second));
  return jsonb_build_object('ok', true, 'known', false);
end $$;

-- Why a parked row may not be tried again, for each of those picked; null for what may. Asked by whoever holds the locks.
create function onceward.judge_parked(picked bigint[]) returns table (id bigint, order_key text, why text) language sql stable as $$
  select p.id, h.order_key, case
    when h.id is null then 'done, or decided by somebody else'
    when h.state not in ('parked', 'dead', 'quarantined') then 'at work already'
    when h.message_id is null then 'has no message id: fix it with one first'
    when m.status not in ('parked', 'dead', 'quarantined') then 'its message id is ' || m.status || ' already'
    when m.digest <> h.digest then 'its message id belongs to other content'
    when m.message_id is null and h.code = 'conflict' then 'its message id belonged to other content, of which the marker is removed'
    when k.message_id <> h.message_id then 'its business key was used by message ' || k.message_id
    when before.id is not null then 'waits behind number ' || before.id
  end as why
  from unnest(picked) as p (id)
  left join onceward.held h on h.id = p.id
  left join onceward.inbox m on m.consumer_id = h.consumer_id and m.message_id = h.message_id
  left join onceward.business_key k on k.consumer_id = h.consumer_id and k.key = h.business_key
  left join lateral (
    select e.id from onceward.held e
    where e.consumer_id = h.consumer_id and e.order_key = h.order_key and e.order_key is not null and e.id < h.id
      and e.id <> all (picked) and e.state in ('stored', 'parked') and e.state = 'parked'
    union all
    select e.id from onceward.held e
    where e.consumer_id = h.consumer_id and e.order_key = h.order_key and e.order_key is not null and e.id < h.id
      and e.id <> all (picked) and e.state = 'quarantined'
    limit 1) before on true;
$$;

-- One stage. The redrive's row is locked: two who run the same one take turns, and both keep to its rate. A row is judged in the transaction
-- that moves it; what may not be moved is left with the reason. Of a selection that was just written statistics know nothing: without the two settings each stage read and
-- sorted all that is still to come.
create function onceward.redrive_stage(request text, count_max integer)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off as $$
declare drive onceward.redrive; picked bigint[]; keys text[]; claimed text[]; n_moved integer; n_left integer; n_behind integer; more boolean; wait_ms float8;
begin
  select * into drive from onceward.redrive r where r.request_id = request for update;
  if not found then return onceward.refuse('parked replay', null, request, 'There is no such replay.'); end if;
  wait_ms := extract(epoch from drive.next_at - clock_timestamp()) * 1000;
  if drive.state <> 'moving' or wait_ms > 0 then
    return jsonb_build_object('ok', true, 'state', drive.state, 'moved', 0, 'behind', 0, 'left', 0, 'waitMs', greatest(0, ceil(wait_ms)));
  end if;
  picked := array(select held_id from onceward.redrive_row where redrive_id = drive.id and held_id > drive.done_to and state = 'selected'
    order by held_id limit least(count_max, drive.rate_max));
  keys := array(select distinct h.order_key from onceward.held h where h.id = any (picked) and h.order_key is not null order by 1);
  perform from onceward.blocked_key b where b.consumer_id = drive.consumer_id and b.key = any (keys) order by b.key for update;
  perform from onceward.held h where h.id = any (picked) order by h.id for update;
  -- Keys and markers first: whoever is about to take one is waited for and seen, and of two rows with one key the second finds it used.
  with put as (
    insert into onceward.business_key (consumer_id, key, message_id)
      select h.consumer_id, h.business_key, h.message_id from onceward.held h
      where h.id = any (picked) and h.business_key is not null and h.message_id is not null and h.state in ('parked', 'dead', 'quarantined')
      order by h.business_key, h.id on conflict do nothing returning key)
  select coalesce(array_agg(key), '{}') into claimed from put;
  insert into onceward.inbox (consumer_id, run_id, status, message_id, digest, position)
    select h.consumer_id, h.run_id, h.state::text::onceward.marker_status, h.message_id, h.digest, h.position
    from onceward.held h join onceward.consumer c on c.id = h.consumer_id and c.dedup = 'marker'
    where h.id = any (picked) and h.message_id is not null and h.code <> 'conflict' and h.state in ('parked', 'dead', 'quarantined')
      and not exists (select from onceward.inbox i where i.consumer_id = h.consumer_id and i.message_id = h.message_id)
    order by h.message_id on conflict do nothing;

  with judged as materialized (select * from onceward.judge_parked(picked)),
  stops as materialized (
    select order_key, min(id) as id from judged where why is not null and order_key is not null group by order_key),
  ruled as materialized (
    select j.id, coalesce(j.why, 'waits behind number ' || s.id) as why
    from judged j left join stops s on s.order_key = j.order_key and s.id < j.id)
  update onceward.redrive_row r
  set state = case when ruled.why is null then 'moved' else 'left' end, why = ruled.why, moved_at = clock_timestamp()
  from ruled where r.redrive_id = drive.id and r.held_id = ruled.id;

  drive.done_to := coalesce(picked[cardinality(picked)], drive.done_to);
  n_left := cardinality(picked);
  picked := array(select held_id from onceward.redrive_row where redrive_id = drive.id and held_id = any (picked) and state = 'moved');
  n_moved := cardinality(picked);
  n_left := n_left - n_moved;
  update onceward.redrive_row set outcome = 'parked again' where held_id = any (picked) and redrive_id <> drive.id and state = 'moved'
    and outcome is null;
  delete from onceward.business_key k where k.consumer_id = drive.consumer_id and k.key = any (claimed) and not exists (
    select from onceward.held h where h.id = any (picked) and h.business_key = k.key and h.message_id = k.message_id);
  update onceward.inbox i set status = 'stored'
    from (select h.consumer_id, h.message_id from onceward.held h where h.id = any (picked) offset 0) h
    where i.consumer_id = any (array[h.consumer_id]) and i.message_id = any (array[h.message_id]);
  update onceward.held h set state = 'stored', due_at = clock_timestamp(), last_at = clock_timestamp(), lease_until = null
    where h.id = any (picked);
  keys := array(select distinct h.order_key from onceward.held h where h.id = any (picked) and h.order_key is not null);
  insert into onceward.redrive_row (redrive_id, held_id, message_id, behind, state, moved_at)
    select drive.id, h.id, h.message_id, true, 'moved', clock_timestamp()
    from unnest(onceward.free_keys(drive.consumer_id, keys)) as freed (id) join onceward.held h on h.id = freed.id
    on conflict (redrive_id, held_id) do update set state = 'moved', moved_at = clock_timestamp();
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

create function onceward.redrive_stop(request text, because text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare drive onceward.redrive; of text;
begin
  select * into drive from onceward.redrive r where r.request_id = request for update;
  if not found then return onceward.refuse('parked stop', null, request, 'There is no such replay.'); end if;
  select name into of from onceward.consumer where id = drive.consumer_id;
  if drive.state <> 'moving' then
    return onceward.refuse('parked stop', of, request, 'This replay is ' || drive.state || ' already.'); end if;
  update onceward.redrive set state = 'stopped' where id = drive.id;
  perform onceward.audit_entry('parked stop', 'done', of, request, because);
  return jsonb_build_object('ok', true);
end $$;

-- Takes rows out for good: their markers say ignored, so that a copy is a duplicate, and their keys go on if nothing else holds them.
create function onceward.close_rows(of integer, ids bigint[], way text, because text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare keys text[]; closed integer; freed bigint[];
begin
  keys := array(select distinct h.order_key from onceward.held h where h.id = any (ids) and h.order_key is not null order by 1);
  perform from onceward.blocked_key b where b.consumer_id = of and b.key = any (keys) order by b.key for update;
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
  return jsonb_build_object('ok', true, 'closed', closed, 'freed', cardinality(freed));
end $$;

create function onceward.skip_parked(consumer text, ids bigint[], seen bytea, because text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare of integer := onceward.selected_consumer(ids, consumer); answer jsonb; subject text := array_to_string(ids[1:20], ' ');
begin
  if coalesce(btrim(because), '') = '' then return onceward.refuse('parked skip', consumer, subject, 'Say why.'); end if;
  if of is null then
    return onceward.refuse('parked skip', consumer, subject, 'Not all of these rows are there and of this consumer.'); end if;
  perform from onceward.blocked_key b where b.consumer_id = of and b.key in (
    select h.order_key from onceward.held h where h.id = any (ids)) order by b.key for update;
  perform from onceward.held h where h.id = any (ids) order by h.id for update;
  if onceward.selection_digest(ids) is distinct from seen then
    return onceward.refuse('parked skip', consumer, subject, 'The selection has changed since it was shown.'); end if;
  answer := onceward.close_rows(of, ids, 'skipped', because);
  perform onceward.audit_entry('parked skip', 'done', consumer, subject, because,
    answer || jsonb_build_object('digest', encode(seen, 'hex'), 'rows', to_jsonb(ids)));
  return answer;
end $$;

create function onceward.fix_parked(consumer text, number bigint, kind text, seen bytea, body bytea, digest_after bytea, new_id text, because text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare h onceward.held; of integer := onceward.selected_consumer(array[number], consumer); marker record; subject text := number::text;
begin
  if coalesce(btrim(because), '') = '' then return onceward.refuse('parked fix', consumer, subject, 'Say why.'); end if;
  if of is null then return onceward.refuse('parked fix', consumer, subject, 'There is no such row of this consumer.'); end if;
  select * into h from onceward.held where id = number for update;
  if h.state not in ('parked', 'dead', 'quarantined') then
    return onceward.refuse('parked fix', consumer, subject, 'It is at work.'); end if;
  if sha256(h.body) is distinct from seen then
    return onceward.refuse('parked fix', consumer, subject, 'Somebody has changed it since it was read.'); end if;
  if h.message_id is null then
    if new_id is null then return onceward.refuse('parked fix', consumer, subject, 'It has no message id: give one that reads well.'); end if;
    select status, message_id into marker from onceward.inbox i where i.consumer_id = of and i.message_id = new_id;
    if found then
      return onceward.refuse('parked fix', consumer, subject, 'Message ' || new_id || ' is ' || marker.status || ' here already: skip this row.'); end if;
    insert into onceward.inbox (consumer_id, run_id, status, message_id, digest, position)
      values (of, h.run_id, h.state::text::onceward.marker_status, new_id, h.digest, h.position);
    update onceward.held set message_id = new_id where id = number;
  elsif new_id is not null and new_id <> h.message_id then
    return onceward.refuse('parked fix', consumer, subject, 'A fix keeps the message id, which is ' || h.message_id || '.');
  end if;
  insert into onceward.lineage (held_id, consumer_id, message_id, kind, reason, digest_before, digest_after, body_before)
    values (number, of, coalesce(h.message_id, new_id), kind, because,
      coalesce((select l.digest_after from onceward.lineage l where l.held_id = number order by l.id desc limit 1), h.digest),
      coalesce(digest_after, h.digest), case when kind = 'payload' then h.body end);
  if kind = 'payload' then update onceward.held set body = fix_parked.body where id = number; end if;
  perform onceward.audit_entry('parked fix', 'done', consumer, subject, because,
    jsonb_build_object('kind', kind, 'before', encode(h.digest, 'hex'), 'after', encode(digest_after, 'hex')));
  return jsonb_build_object('ok', true);
end $$;

create function onceward.triage_parked(consumer text, ids bigint[], named text, whose text, said text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare subject text := array_to_string(ids[1:20], ' ');
begin
  if onceward.selected_consumer(ids, consumer) is null then
    return onceward.refuse('parked classify', consumer, subject, 'Not all of these rows are there and of this consumer.'); end if;
  insert into onceward.triage as t (held_id, label, assignee, note) select id, named, whose, said from unnest(ids) as id
  on conflict (held_id) do update set label = coalesce(excluded.label, t.label), assignee = coalesce(excluded.assignee, t.assignee),
    note = coalesce(excluded.note, t.note), at = clock_timestamp(), actor = onceward.actor();
  perform onceward.audit_entry('parked classify', 'done', consumer, subject, coalesce(said, ''),
    jsonb_build_object('label', named, 'assignee', whose, 'rows', cardinality(ids)));
  return jsonb_build_object('ok', true, 'rows', cardinality(ids));
end $$;

create function onceward.request_deletion(consumer text, ids bigint[], seen bytea, because text, lasts_seconds integer)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare of integer := onceward.selected_consumer(ids, consumer); made onceward.approval; subject text := array_to_string(ids[1:20], ' ');
begin
  if coalesce(btrim(because), '') = '' then return onceward.refuse('parked delete request', consumer, subject, 'Say why.'); end if;
  if not onceward.is_person() then
    return onceward.refuse('parked delete request', consumer, subject,
      'Role ' || session_user || ' is nobody in person: it is not listed in onceward.person.'); end if;
  if of is null then
    return onceward.refuse('parked delete request', consumer, subject, 'Not all of these rows are there and of this consumer.'); end if;
  if onceward.selection_digest(ids) is distinct from seen then
    return onceward.refuse('parked delete request', consumer, subject, 'The selection has changed since it was shown.'); end if;
  insert into onceward.approval (verb, consumer_id, held_ids, digest, reason, requested_by, requested_at, expires_at)
    values ('delete', of, ids, seen, because, '', clock_timestamp(), clock_timestamp() + lasts_seconds * interval '1 second')
    returning * into made;
  perform onceward.audit_entry('parked delete request', 'done', consumer, made.id::text, because,
    jsonb_build_object('rows', to_jsonb(ids), 'digest', encode(seen, 'hex'), 'until', made.expires_at));
  return jsonb_build_object('ok', true, 'approval', made.id, 'expiresAt', made.expires_at);
end $$;

create function onceward.approve(request bigint, seen bytea)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare a onceward.approval; of text;
begin
  select * into a from onceward.approval where id = request for update;
  if not found then return onceward.refuse('approve', null, request::text, 'There is no such request.'); end if;
  select name into of from onceward.consumer where id = a.consumer_id;
  if onceward.human_of(a.requested_by) = onceward.human_of(onceward.actor()) then
    return onceward.refuse('approve', of, request::text, 'Who requests does not approve.'); end if;
  if not onceward.is_person() then
    return onceward.refuse('approve', of, request::text,
      'Role ' || session_user || ' is nobody in person: it is not listed in onceward.person.'); end if;
  if clock_timestamp() > a.expires_at then return onceward.refuse('approve', of, request::text, 'The request has expired.'); end if;
  if a.approved_at is not null then
    return onceward.refuse('approve', of, request::text, 'It is approved already, by ' || a.approved_by || '.'); end if;
  if a.digest is distinct from seen or onceward.selection_digest(a.held_ids) is distinct from a.digest then
    return onceward.refuse('approve', of, request::text, 'The selection is not what was requested any more.'); end if;
  update onceward.approval set approved_by = onceward.actor() where id = request;
  perform onceward.audit_entry('approve', 'done', of, request::text, a.reason,
    jsonb_build_object('verb', a.verb, 'requestedBy', a.requested_by, 'digest', encode(a.digest, 'hex')));
  return jsonb_build_object('ok', true);
end $$;

create function onceward.delete_parked(request bigint, consumer text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare a onceward.approval; of text; answer jsonb;
begin
  select * into a from onceward.approval where id = request for update;
  if not found then return onceward.refuse('parked delete', consumer, request::text, 'There is no such request.'); end if;
  select name into of from onceward.consumer where id = a.consumer_id;
  if of <> consumer then return onceward.refuse('parked delete', of, request::text, 'Request ' || request || ' is not of consumer "' || consumer || '".'); end if;
  if a.approved_at is null then return onceward.refuse('parked delete', of, request::text, 'Nobody has approved it.'); end if;
  if a.executed_at is not null then return onceward.refuse('parked delete', of, request::text, 'It is done already.'); end if;
  if clock_timestamp() > a.expires_at then return onceward.refuse('parked delete', of, request::text, 'The approval has expired.'); end if;
  perform from onceward.blocked_key b where b.consumer_id = a.consumer_id and b.key in (
    select h.order_key from onceward.held h where h.id = any (a.held_ids)) order by b.key for update;
  perform from onceward.held h where h.id = any (a.held_ids) order by h.id for update;
  if onceward.selection_digest(a.held_ids) is distinct from a.digest then
    return onceward.refuse('parked delete', of, request::text, 'The selection has changed since it was approved.'); end if;
  answer := onceward.close_rows(a.consumer_id, a.held_ids, 'deleted', a.reason);
  update onceward.lineage set body_before = null where held_id = any (a.held_ids);
  update onceward.approval set executed_at = clock_timestamp() where id = request;
  perform onceward.audit_entry('parked delete', 'done', of, request::text, a.reason, answer || jsonb_build_object('requestedBy', a.requested_by,
    'approvedBy', a.approved_by, 'digest', encode(a.digest, 'hex'),
    'rows', (select jsonb_agg(jsonb_build_object('number', c.held_id, 'message', c.message_id, 'digest', encode(c.digest, 'hex')) order by c.held_id)
      from onceward.closed_held c where c.held_id = any (a.held_ids))));
  return answer;
end $$;

-- Work made due by a person: a claim, wait or delay is ended; what is parked is tried once more with all of its key; of what is quarantined only
-- the key is freed.
create function onceward.release_held(consumer text, held bigint, because text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare h onceward.held; of text; freed bigint[]; subject text := held::text;
begin
  select c.name into of from onceward.held r join onceward.consumer c on c.id = r.consumer_id where r.id = held;
  if coalesce(btrim(because), '') = '' then return onceward.refuse('inbox release', of, subject, 'Say why it is released.'); end if;
  if of is null then
    return onceward.refuse('inbox release', consumer, subject, 'There is no held work with number ' || held || '; it may be done by now.'); end if;
  if of <> consumer then
    return onceward.refuse('inbox release', of, subject, 'Number ' || held || ' is not of consumer "' || consumer || '".'); end if;
  perform from onceward.blocked_key b join onceward.held r on r.consumer_id = b.consumer_id and r.order_key = b.key
    where r.id = held for update of b;
  select * into h from onceward.held r where r.id = held for update;
  if not found then
    return onceward.refuse('inbox release', consumer, subject, 'There is no held work with number ' || held || '; it may be done by now.'); end if;
  if h.state = 'dead' or (h.state = 'quarantined' and h.order_key is null) then
    return onceward.refuse('inbox release', of, subject, 'Number ' || held || ' is ' || h.state || ': it is not safe to try it again by itself.'); end if;
  if h.state in ('parked', 'quarantined') and h.order_key is not null then
    freed := onceward.free_keys(h.consumer_id, array[h.order_key]);
  elsif h.state = 'parked' then
    update onceward.held r set state = 'stored', due_at = clock_timestamp(), last_at = clock_timestamp() where r.id = held;
    update onceward.inbox i set status = 'stored' where i.consumer_id = h.consumer_id and i.message_id = h.message_id;
    freed := array[held];
  else
    -- The epoch is raised: whoever has it now finishes nothing.
    update onceward.held r set due_at = clock_timestamp(), lease_until = null, epoch = r.epoch + 1 where r.id = held;
    freed := array[held];
  end if;
  insert into onceward.held_action (held_id, because, did)
    select unnest(case when h.state = 'quarantined' then held || freed else freed end), because, 'released from ' || h.state;
  return jsonb_build_object('ok', true, 'released', cardinality(freed), 'from', h.state);
end $$;

-- What a person found out about an external effect, or wants tried again. The change and its reason are written together, only of what waits for
-- people, and only while it is as it was shown: of two who act at once the second waits for the first and then finds another epoch.
create function onceward.act_on_effect(effect bigint, seen integer, act text, finding onceward.effect_state, because text)
returns boolean language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare was onceward.ledger; becomes onceward.effect_state;
begin
  select * into was from onceward.ledger l where l.id = effect for update;
  if not found or was.epoch is distinct from seen or was.due_at <> 'infinity' or was.state = 'completed' or coalesce(btrim(because), '') = ''
  then return false; end if;
  becomes := case when act = 'reconcile' and finding in ('completed', 'failed') then finding
    when act = 'retry' and was.state = 'failed' then 'retryable' when act = 'retry' then 'unknown' end;
  if becomes is null then return false; end if;
  update onceward.ledger l set state = becomes, epoch = l.epoch + 1,
    due_at = case when act = 'retry' then clock_timestamp() else 'infinity' end,
    attempts_forgiven = case when act = 'retry' then l.attempts else l.attempts_forgiven end,
    completed_at = case when becomes = 'completed' then clock_timestamp() end
  where l.id = effect;
  insert into onceward.ledger_action (ledger_id, action, reason, from_state, to_state) values (effect, act, because, was.state, becomes);
  return true;
end $$;

-- Three group roles with no more than their work needs, and one for a console that may name its users. Needs the right to create roles.
create function onceward.create_roles() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare name text;
begin
  foreach name in array array['onceward_run', 'onceward_operator', 'onceward_approver', 'onceward_console'] loop
    begin
      if not exists (select from pg_roles where rolname = name) then execute format('create role %I nologin', name); end if;
    exception when duplicate_object or unique_violation then null; -- roles are the whole server's: another database has just made it
    end;
  end loop;
  revoke all on all functions in schema onceward from public;
  grant usage on schema onceward to onceward_run, onceward_operator, onceward_approver, onceward_console;
  grant select, insert, update, delete on all tables in schema onceward to onceward_run;
  revoke insert, update, delete on onceward.audit, onceward.audit_head, onceward.person, onceward.approval, onceward.lineage,
    onceward.closed_held, onceward.redrive, onceward.redrive_row, onceward.triage, onceward.migration, onceward.environment from onceward_run;
  revoke insert, update, delete on onceward.campaign_approval, onceward.campaign_event, onceward.campaign_step from onceward_run;
  revoke insert, update, delete on onceward.server_life, onceward.broker, onceward.reading, onceward.marker_days, onceward.late_marker from onceward_run;
  revoke update, delete on onceward.held_action, onceward.ledger_action from onceward_run;
  grant insert, update on onceward.campaign to onceward_operator, onceward_console;
  grant insert, delete on onceward.campaign_row to onceward_operator, onceward_console;
  grant select on all tables in schema onceward to onceward_operator, onceward_approver, onceward_console;
  grant update (accepted_at, accepted_because) on onceward.gap to onceward_operator, onceward_console;
  grant execute on all functions in schema onceward to onceward_run;
  revoke execute on function onceward.audit_entry, onceward.campaign_event_of, onceward.refuse, onceward.redrive_start, onceward.redrive_stage, onceward.redrive_stop,
    onceward.close_rows, onceward.free_keys, onceward.skip_parked, onceward.fix_parked, onceward.triage_parked, onceward.request_deletion,
    onceward.approve, onceward.approve_campaign, onceward.delete_parked, onceward.release_held, onceward.accept_server, onceward.separate_reader, onceward.rename_consumer,
    onceward.accept_broker, onceward.act_on_effect, onceward.create_roles, onceward.build_days, onceward.move_to_days, onceward.hold_inbox,
    onceward.attach_days, onceward.make_day, onceward.grant_same, onceward.is_rebuilt, onceward.count_forgotten, onceward.assert_past,
    onceward.note_late from onceward_run;
  grant execute on function onceward.actor, onceward.is_console, onceward.is_person, onceward.place_of, onceward.cause_of,
    onceward.selection_digest, onceward.selected_consumer, onceward.human_of, onceward.audit_field, onceward.audit_content, onceward.fold_parked_counts,
    onceward.seen_of, onceward.campaign_rows_digest
    to onceward_operator, onceward_approver, onceward_console;
  grant execute on function onceward.redrive_start, onceward.redrive_stage, onceward.redrive_stop, onceward.skip_parked, onceward.fix_parked,
    onceward.triage_parked, onceward.request_deletion, onceward.delete_parked, onceward.release_held, onceward.act_on_effect to onceward_operator, onceward_console;
  grant execute on function onceward.server_now, onceward.server_check, onceward.same_life, onceward.notice_server to onceward_operator, onceward_approver, onceward_console;
  grant execute on function onceward.accept_server, onceward.separate_reader, onceward.rename_consumer, onceward.accept_broker
    to onceward_operator, onceward_console;
  grant execute on function onceward.approve, onceward.approve_campaign to onceward_approver, onceward_console;
end $$;
revoke execute on function onceward.audit_entry, onceward.refuse, onceward.close_rows, onceward.free_keys, onceward.act_on_effect,
  onceward.create_roles from public;
`
