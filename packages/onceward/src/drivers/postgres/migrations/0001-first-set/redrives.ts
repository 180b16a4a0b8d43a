/** Redrives of parked messages into the live consumer ("onceward parked redrive"). */
export const redrives = `
-- One redrive: an exact selection, moved in stages under one request id, also if it is requested several
-- times.
create table onceward.redrive (
  id           bigint generated always as identity primary key,
  request_id   text not null unique,
  consumer_id  integer not null,
  at           timestamptz not null default clock_timestamp(),
  actor        text not null default onceward.actor(),
  reason       text not null,
  digest       bytea not null,
  rate_max     integer check (rate_max > 0),
  state        text not null default 'moving' check (state in ('moving', 'stopped', 'moved')),
  next_at      timestamptz not null default clock_timestamp(),
  -- Every selected row up to this id is moved or left.
  done_to      bigint not null default 0
);

-- The result of a moved row is read from the held row and the marker until another act takes the row. outcome
-- then keeps the result of that moment.
create table onceward.redrive_row (
  redrive_id bigint not null,
  held_id    bigint not null,
  message_id text collate "C",
  behind     boolean not null default false,
  state      text not null default 'selected' check (state in ('selected', 'moved', 'left')),
  why        text,
  moved_at   timestamptz,
  outcome    text,
  primary key (redrive_id, held_id)
);
create index redrive_row_of on onceward.redrive_row (held_id);
create index redrive_row_by_message on onceward.redrive_row (message_id) where message_id is not null;

-- A repeated request is the same redrive only for the same selection and consumer. Resuming after a stop is
-- an act with its own reason.
create function onceward.redrive_start(request text, consumer text, ids bigint[], expected bytea,
  per_second integer, reason text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare known onceward.redrive; of_consumer integer; mine bigint;
begin
  if onceward.is_blank(reason) then
    return onceward.refuse('parked redrive', consumer, request, 'Say why.'); end if;
  perform pg_advisory_xact_lock(hashtext('onceward.redrive'), hashtext(request));
  select * into known from onceward.redrive r where r.request_id = request for update;
  if found then
    if known.digest is distinct from expected or not exists (
      select from onceward.consumer c where c.id = known.consumer_id and c.name = consumer) then
      return onceward.refuse('parked redrive', consumer, request,
        'This request id was used for another selection.'); end if;
    if known.state = 'stopped' then
      update onceward.redrive set state = 'moving', next_at = clock_timestamp() where id = known.id;
      perform onceward.audit_entry('parked redrive', 'done', consumer, request, reason, '{"resumed": true}');
    end if;
    return jsonb_build_object('ok', true, 'known', true);
  end if;
  of_consumer := onceward.selected_consumer(ids, consumer);
  if of_consumer is null then
    return onceward.refuse('parked redrive', consumer, request,
      'Some of these rows do not exist or belong to another consumer.'); end if;
  if onceward.selection_digest(ids) is distinct from expected then
    return onceward.refuse('parked redrive', consumer, request,
      'The selection has changed since it was shown.'); end if;
  insert into onceward.redrive (request_id, consumer_id, reason, digest, rate_max)
    values (request, of_consumer, reason, expected, per_second) returning id into mine;
  insert into onceward.redrive_row (redrive_id, held_id, message_id) select mine, h.id, h.message_id
    from onceward.held h where h.id = any (ids);
  perform onceward.audit_entry('parked redrive', 'done', consumer, request, reason,
    jsonb_build_object('rows', cardinality(ids), 'digest', encode(expected, 'hex'), 'perSecond', per_second));
  return jsonb_build_object('ok', true, 'known', false);
end $$;

-- One stage. The row of the redrive is locked: two processes that run the same redrive alternate, and both
-- keep to its rate. A row is judged in the transaction that moves it; a row that may not be released is left,
-- with the reason. The planner has no statistics of a selection that was just written: without the two
-- settings each stage read and sorted all remaining rows.
create function onceward.redrive_stage(request text, count_max integer)
returns jsonb language plpgsql security definer
set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off as $$
declare drive onceward.redrive; picked bigint[]; ids bigint[]; whys text[]; gone bigint[]; keys text[];
  n_moved integer; n_left integer; n_behind integer; more boolean; wait_ms float8;
begin
  select * into drive from onceward.redrive r where r.request_id = request for update;
  if not found then
    return onceward.refuse('parked redrive', null, request, 'There is no such redrive.'); end if;
  wait_ms := extract(epoch from drive.next_at - clock_timestamp()) * 1000;
  if drive.state <> 'moving' or wait_ms > 0 then
    return jsonb_build_object('ok', true, 'state', drive.state, 'moved', 0, 'behind', 0, 'left', 0,
      'waitMs', greatest(0, ceil(wait_ms)));
  end if;
  picked := array(select held_id from onceward.redrive_row
    where redrive_id = drive.id and held_id > drive.done_to and state = 'selected'
    order by held_id limit least(count_max, drive.rate_max));
  select coalesce(array_agg(r.id), '{}'), coalesce(array_agg(r.why), '{}'),
    coalesce(array_agg(r.id) filter (where r.why is null), '{}')
    into ids, whys, gone from onceward.release_rows(drive.consumer_id, picked, true) r;
  update onceward.redrive_row r
  set state = case when ruled.why is null then 'moved' else 'left' end, why = ruled.why,
    moved_at = clock_timestamp()
  from unnest(ids, whys) as ruled (id, why) where r.redrive_id = drive.id and r.held_id = ruled.id;

  drive.done_to := coalesce(picked[cardinality(picked)], drive.done_to);
  n_moved := cardinality(gone);
  n_left := cardinality(picked) - n_moved;
  update onceward.redrive_row set outcome = 'parked again'
    where held_id = any (gone) and redrive_id <> drive.id and state = 'moved' and outcome is null;
  keys := array(select distinct h.order_key from onceward.held h
    where h.id = any (gone) and h.order_key is not null);
  insert into onceward.redrive_row (redrive_id, held_id, message_id, behind, state, moved_at)
    select drive.id, h.id, h.message_id, true, 'moved', clock_timestamp()
    from unnest(onceward.unblock_keys(drive.consumer_id, keys)) as freed (id)
    join onceward.held h on h.id = freed.id
    on conflict (redrive_id, held_id) do update set state = 'moved', why = null, moved_at = clock_timestamp();
  get diagnostics n_behind = row_count;

  more := exists (select from onceward.redrive_row
    where redrive_id = drive.id and held_id > drive.done_to and state = 'selected');
  update onceward.redrive set done_to = drive.done_to, state = case when more then 'moving' else 'moved' end,
    next_at = clock_timestamp() + coalesce((n_moved + n_behind)::float8 / rate_max, 0) * interval '1 second'
  where id = drive.id returning * into drive;
  if not more then
    perform onceward.audit_entry('parked redrive moved', 'done',
      (select name from onceward.consumer where id = drive.consumer_id), request, drive.reason, (
        select jsonb_build_object('moved', count(*) filter (where state = 'moved' and not behind),
          'behind', count(*) filter (where behind), 'left', count(*) filter (where state = 'left'))
        from onceward.redrive_row where redrive_id = drive.id));
  end if;
  return jsonb_build_object('ok', true, 'state', drive.state, 'moved', n_moved, 'behind', n_behind,
    'left', n_left,
    'waitMs', greatest(0, ceil(extract(epoch from drive.next_at - clock_timestamp()) * 1000)));
end $$;

create function onceward.redrive_stop(request text, reason text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare drive onceward.redrive; of_consumer text;
begin
  if onceward.is_blank(reason) then
    return onceward.refuse('parked stop', null, request, 'Say why.'); end if;
  select * into drive from onceward.redrive r where r.request_id = request for update;
  if not found then return onceward.refuse('parked stop', null, request, 'There is no such redrive.'); end if;
  select name into of_consumer from onceward.consumer where id = drive.consumer_id;
  if drive.state <> 'moving' then
    return onceward.refuse('parked stop', of_consumer, request,
      'This redrive is already ' || drive.state || '.'); end if;
  update onceward.redrive set state = 'stopped' where id = drive.id;
  perform onceward.audit_entry('parked stop', 'done', of_consumer, request, reason);
  return jsonb_build_object('ok', true);
end $$;
`
