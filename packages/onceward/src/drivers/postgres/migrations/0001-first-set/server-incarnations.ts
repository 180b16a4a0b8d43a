/**
 * Which life (incarnation) of which server this database is in, as a person last accepted it; and steps of
 * its clock. A clock that was ahead for a while leaves times that lie in the future or in the wrong order:
 * none of them counts.
 */
export const serverIncarnations = `
-- A promoted standby, a restored backup, a dump put elsewhere: each is another life, which may lack what was
-- committed and settled in the one before. The process that meets one writes it down, and nobody goes on
-- until a person has accepted it. complete_until is the newest sign of a consumer in this copy: commits are
-- copied in order, so what was committed before it is here too. Only signs count that were given after a look
-- at the server: a batch behind a pooler may have committed on this copy before anybody noticed.
create table onceward.server_incarnation (
  id                bigint generated always as identity primary key,
  system_identifier text,
  timeline          integer,
  database_oid      oid not null,
  detected_at        timestamptz not null default clock_timestamp(),
  -- The process that met it, or the person who knows of it: noticing a life stops every consumer.
  detected_by        text,
  reason            text not null,
  complete_until       timestamptz,
  accepted_at       timestamptz,
  accepted_by       text,
  accepted_reason  text
);
create unique index server_incarnation_open on onceward.server_incarnation ((true)) where accepted_at is null;

-- What the server says of itself. A managed server may hide some of it: what is not known is not compared.
create function onceward.server_now(
  out in_recovery boolean, out read_only boolean, out system_identifier text, out timeline integer,
  out database_oid oid, out flushed numeric)
language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  in_recovery := pg_is_in_recovery();
  read_only := current_setting('transaction_read_only')::boolean;
  database_oid := (select d.oid from pg_database d where d.datname = current_database());
  begin
    system_identifier := (select s.system_identifier::text from pg_control_system() s);
  exception when insufficient_privilege or undefined_function or feature_not_supported then null;
  end;
  if in_recovery then return; end if;
  begin
    timeline := ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer;
    flushed := pg_current_wal_flush_lsn() - '0/0'::pg_lsn;
  exception when insufficient_privilege or undefined_function or feature_not_supported
    or object_not_in_prerequisite_state then null;
  end;
end $$;

insert into onceward.server_incarnation
  (system_identifier, timeline, database_oid, reason, accepted_at, accepted_by, accepted_reason)
select n.system_identifier, n.timeline, n.database_oid, 'the schema was made here', clock_timestamp(),
  session_user, 'first life'
from onceward.server_now() n;

create function onceward.same_incarnation(life onceward.server_incarnation, system_now text, timeline_now integer,
  database_now oid) returns boolean
language sql immutable
return coalesce((life).system_identifier = system_now, true)
  and coalesce((life).timeline = timeline_now, true) and (life).database_oid = database_now;

-- Asked on every new connection. open is a life that waits for a person; known is false when nobody has
-- written this one down yet. The newest accepted life is the one with the highest number, because only one
-- waits at a time. Its time would not do: servers before and after a failover have clocks of their own.
create function onceward.server_check(
  out in_recovery boolean, out read_only boolean, out system_identifier text, out timeline integer,
  out database_oid oid, out flushed numeric, out open bigint, out known boolean)
language sql set search_path = pg_catalog, pg_temp as $$
  select n.*, (select l.id from onceward.server_incarnation l where l.accepted_at is null),
    (select onceward.same_incarnation(l, n.system_identifier, n.timeline, n.database_oid)
     from onceward.server_incarnation l where l.accepted_at is not null order by l.id desc limit 1)
  from onceward.server_now() n
$$;

-- Up to when this copy is known to have everything. The clock of the server before may have been a little
-- ahead of this one: such a sign counts as of now. One from further ahead says nothing. Null where no other
-- is left: too late a time would make people replay too little.
create function onceward.last_heartbeat() returns timestamptz
language sql volatile set search_path = pg_catalog, pg_temp as $$
  with clock as materialized (select clock_timestamp() as now)
  select least(max(sign.at), (select now from clock))
  from onceward.run r cross join lateral (values (r.heartbeat_at), (r.started_at)) as sign (at)
  where sign.at <= (select now from clock) + interval '1 minute'
$$;

create function onceward.record_incarnation(reason text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare now_is record; noticed bigint;
begin
  if onceward.is_blank(reason) then
    raise exception 'Say why the server counts as another one. Nothing was changed.'
      using errcode = 'invalid_parameter_value'; end if;
  select * into now_is from onceward.server_now();
  insert into onceward.server_incarnation (system_identifier, timeline, database_oid, reason, detected_by, complete_until)
  values (now_is.system_identifier, now_is.timeline, now_is.database_oid, left(reason, 500),
    onceward.actor(), onceward.last_heartbeat())
  on conflict ((true)) where accepted_at is null do nothing returning id into noticed;
  if found then
    perform onceward.audit_entry('restore notice', 'done', null, noticed::text, left(reason, 500),
      jsonb_build_object('timeline', now_is.timeline, 'system', now_is.system_identifier));
    return noticed;
  end if;
  select l.id into noticed from onceward.server_incarnation l where l.accepted_at is null;
  return noticed;
end $$;

-- Readers of logs whose position the broker keeps are set back to what this copy knows was settled: the
-- broker's position may be ahead of it. Messages that come again and are here are recognised. Where the store
-- keeps the position, reading goes on from there by itself.
create function onceward.accept_incarnation(expected bigint, reason text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare life onceward.server_incarnation; now_is record; n_back integer;
begin
  select * into life from onceward.server_incarnation l where l.accepted_at is null for update;
  if not found then
    return onceward.refuse('restore accept', null, expected::text, 'Nothing waits to be accepted.'); end if;
  if life.id is distinct from expected then
    return onceward.refuse('restore accept', null, expected::text,
      format('What waits is number %s. Look at it first.', life.id)); end if;
  if onceward.is_blank(reason) then
    return onceward.refuse('restore accept', null, expected::text, 'Say why.'); end if;
  select * into now_is from onceward.server_now();
  if not onceward.same_incarnation(life, now_is.system_identifier, now_is.timeline, now_is.database_oid) then
    update onceward.server_incarnation set system_identifier = now_is.system_identifier, timeline = now_is.timeline,
      database_oid = now_is.database_oid, detected_at = clock_timestamp() where id = life.id;
    return onceward.refuse('restore accept', null, expected::text,
      'The server has changed once more since. Look again.');
  end if;
  insert into onceward.loss (consumer_id, partition, from_incarnation, from_position, to_incarnation, to_position,
    records, reason, declared_by_run, accepted_at, accepted_by, accepted_reason)
  select c.consumer_id, c.partition, c.incarnation, c.next, c.incarnation, c.next, 0,
    'the database is another copy (restore ' || life.id || '): read again from what it knows', c.run_id,
    clock_timestamp(), onceward.actor(), reason
  from onceward.checkpoint c join onceward.consumer k on k.id = c.consumer_id
  where c.next is not null and exists (
    select from onceward.reader r where r.consumer_name = k.name and r.position_kept_by = 'broker')
  on conflict (consumer_id, partition, from_incarnation, from_position) where resumed_at is null
  do update set to_incarnation = excluded.to_incarnation, to_position = excluded.to_position,
    reason = excluded.reason, accepted_at = excluded.accepted_at, accepted_by = excluded.accepted_by,
    accepted_reason = excluded.accepted_reason;
  get diagnostics n_back = row_count;
  update onceward.server_incarnation set accepted_at = clock_timestamp(), accepted_by = onceward.actor(),
    accepted_reason = accept_incarnation.reason where id = life.id;
  perform onceward.audit_entry('restore accept', 'done', null, expected::text, reason,
    jsonb_build_object('timeline', life.timeline, 'system', life.system_identifier,
      'survivedTo', life.complete_until, 'noticedAt', life.detected_at, 'partitionsSetBack', n_back));
  return jsonb_build_object('ok', true, 'partitionsSetBack', n_back);
end $$;

-- Forward steps of the database's clock: rows written before one are younger than their time says. One row
-- for each process that saw the step: a row too many keeps memory longer, and one too few would remove it
-- early.
create table onceward.clock_step (
  id    bigint generated always as identity primary key,
  at    timestamptz not null default clock_timestamp(),
  moved interval not null check (moved > interval '0')
);
`
