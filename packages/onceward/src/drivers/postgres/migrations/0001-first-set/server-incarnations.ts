/**
 * The incarnation of the server, as an operator last accepted it, and steps of its clock. A clock that was
 * ahead for a while leaves times in the future or in the wrong order: such times are ignored.
 */
export const serverIncarnations = `
-- A promoted standby, a restored backup or a dump loaded elsewhere is another incarnation, which may lack
-- what was committed and settled before. The process that detects it records it here, and no consumer
-- continues until an operator has accepted it. complete_until is the newest heartbeat of a consumer in this
-- copy: commits are replicated in order, so earlier commits are here too. Only heartbeats after a check of
-- the server count: a batch behind a pooler may have committed on this copy before a process detected it.
create table onceward.server_incarnation (
  id                bigint generated always as identity primary key,
  system_identifier text,
  timeline          integer,
  database_oid      oid not null,
  detected_at       timestamptz not null default clock_timestamp(),
  -- The process or operator that recorded it: recording an incarnation stops every consumer.
  detected_by       text,
  reason            text not null,
  complete_until    timestamptz,
  accepted_at       timestamptz,
  accepted_by       text,
  accepted_reason   text
);
create unique index server_incarnation_open on onceward.server_incarnation ((true)) where accepted_at is null;

-- The identity that the server reports. A managed server may hide parts of it; unknown parts are not
-- compared.
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
select n.system_identifier, n.timeline, n.database_oid, 'the schema was created here', clock_timestamp(),
  session_user, 'first incarnation'
from onceward.server_now() n;

create function onceward.same_incarnation(recorded onceward.server_incarnation, system_now text,
  timeline_now integer, database_now oid) returns boolean
language sql immutable
return coalesce((recorded).system_identifier = system_now, true)
  and coalesce((recorded).timeline = timeline_now, true) and (recorded).database_oid = database_now;

-- Called on every new connection. open is an incarnation that waits for an operator; known is false if this
-- incarnation is not recorded yet. The latest accepted incarnation is the one with the highest id, because
-- only one waits at a time. Its time would not do: servers before and after a failover have different clocks.
create function onceward.server_check(
  out in_recovery boolean, out read_only boolean, out system_identifier text, out timeline integer,
  out database_oid oid, out flushed numeric, out open bigint, out known boolean)
language sql set search_path = pg_catalog, pg_temp as $$
  select n.*, (select l.id from onceward.server_incarnation l where l.accepted_at is null),
    (select onceward.same_incarnation(l, n.system_identifier, n.timeline, n.database_oid)
     from onceward.server_incarnation l where l.accepted_at is not null order by l.id desc limit 1)
  from onceward.server_now() n
$$;

-- The time up to which this copy is known to be complete. The clock of the previous server may have been a
-- little ahead of this one: such a heartbeat counts as of now. A heartbeat further ahead is ignored. Null if
-- no other is left: with too late a time operators would replay too little.
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
    raise exception 'Say why the server counts as another incarnation. Nothing was changed.'
      using errcode = 'invalid_parameter_value'; end if;
  select * into now_is from onceward.server_now();
  insert into onceward.server_incarnation (system_identifier, timeline, database_oid, reason, detected_by,
    complete_until)
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

-- Readers of logs whose position the broker keeps are moved back to the position that this copy has: the
-- position of the broker may be ahead of it. Redelivered messages with a marker here are duplicates. If the
-- store keeps the position, reading continues from there.
create function onceward.accept_incarnation(expected bigint, reason text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare waiting onceward.server_incarnation; now_is record; n_back integer;
begin
  select * into waiting from onceward.server_incarnation l where l.accepted_at is null for update;
  if not found then
    return onceward.refuse('restore accept', null, expected::text,
      'No incarnation waits to be accepted.'); end if;
  if waiting.id is distinct from expected then
    return onceward.refuse('restore accept', null, expected::text,
      format('Incarnation %s waits to be accepted. Review that one first.', waiting.id)); end if;
  if onceward.is_blank(reason) then
    return onceward.refuse('restore accept', null, expected::text, 'Say why.'); end if;
  select * into now_is from onceward.server_now();
  if not onceward.same_incarnation(waiting, now_is.system_identifier, now_is.timeline,
    now_is.database_oid) then
    update onceward.server_incarnation set system_identifier = now_is.system_identifier,
      timeline = now_is.timeline,
      database_oid = now_is.database_oid, detected_at = clock_timestamp() where id = waiting.id;
    return onceward.refuse('restore accept', null, expected::text,
      'The server has changed again since then. Review it again.');
  end if;
  insert into onceward.loss (consumer_id, partition, from_incarnation, from_position, to_incarnation,
    to_position,
    records, reason, declared_by_run, accepted_at, accepted_by, accepted_reason)
  select c.consumer_id, c.partition, c.incarnation, c.next, c.incarnation, c.next, 0,
    'the database is another incarnation (' || waiting.id || '): read again from its position', c.run_id,
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
    accepted_reason = accept_incarnation.reason where id = waiting.id;
  perform onceward.audit_entry('restore accept', 'done', null, expected::text, reason,
    jsonb_build_object('timeline', waiting.timeline, 'system', waiting.system_identifier,
      'survivedTo', waiting.complete_until, 'noticedAt', waiting.detected_at, 'partitionsSetBack', n_back));
  return jsonb_build_object('ok', true, 'partitionsSetBack', n_back);
end $$;

-- Forward steps of the database clock: rows written before a step are younger than their time says. Each
-- process that saw the step writes a row: an extra row keeps markers longer, a missing row would remove them
-- early.
create table onceward.clock_step (
  id    bigint generated always as identity primary key,
  at    timestamptz not null default clock_timestamp(),
  moved interval not null check (moved > interval '0')
);
`
