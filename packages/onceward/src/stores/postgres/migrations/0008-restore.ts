/**
 * Which life of which server this database is in, as a person last accepted it; who reads what under which name; and which brokers feed it. All
 * of it is looked at when processes start or connect, never by a batch.
 */
export const restore = `
-- A promoted standby, a restored backup, a dump put elsewhere: each is another life, which may lack what was committed and settled in the one
-- before. Whoever meets one writes it down, and nobody goes on until a person has accepted it. survived_to is the newest sign of a consumer
-- that is in this copy: commits are copied in order, so what was committed before it is here too. Only signs count that are given after a look
-- at the server: a batch behind a pooler may have committed on this copy before anybody noticed.
create table onceward.server_life (
  id                bigint generated always as identity primary key,
  system_identifier text,
  timeline          integer,
  database_oid      oid not null,
  noticed_at        timestamptz not null default clock_timestamp(),
  why               text not null,
  survived_to       timestamptz,
  accepted_at       timestamptz,
  accepted_by       text,
  accepted_because  text
);
create unique index server_life_open on onceward.server_life ((true)) where accepted_at is null;

-- What the server says of itself. A managed server may hide some of it: what is not known is not compared.
create function onceward.server_now(
  out in_recovery boolean, out read_only boolean, out system_identifier text, out timeline integer, out database_oid oid, out flushed numeric)
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
  exception when insufficient_privilege or undefined_function or feature_not_supported or object_not_in_prerequisite_state then null;
  end;
end $$;

insert into onceward.server_life (system_identifier, timeline, database_oid, why, accepted_at, accepted_by, accepted_because)
select n.system_identifier, n.timeline, n.database_oid, 'the schema was made here', clock_timestamp(), session_user, 'first life'
from onceward.server_now() n;

create function onceward.same_life(life onceward.server_life, system_now text, timeline_now integer, database_now oid) returns boolean
language sql immutable
return coalesce((life).system_identifier = system_now, true) and coalesce((life).timeline = timeline_now, true)
  and (life).database_oid = database_now;

-- Asked on every new connection. open is a life that waits for a person; known is false when nobody has written this one down yet.
create function onceward.server_check(
  out in_recovery boolean, out read_only boolean, out system_identifier text, out timeline integer, out database_oid oid, out flushed numeric,
  out open bigint, out known boolean)
language sql set search_path = pg_catalog, pg_temp as $$
  select n.*, (select l.id from onceward.server_life l where l.accepted_at is null),
    (select onceward.same_life(l, n.system_identifier, n.timeline, n.database_oid)
     from onceward.server_life l where l.accepted_at is not null order by l.accepted_at desc, l.id desc limit 1)
  from onceward.server_now() n
$$;

create function onceward.notice_server(reason text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare now_is record; noticed bigint;
begin
  select * into now_is from onceward.server_now();
  insert into onceward.server_life (system_identifier, timeline, database_oid, why, survived_to)
  values (now_is.system_identifier, now_is.timeline, now_is.database_oid, left(reason, 500), greatest(
    (select max(heard_at) from onceward.run), (select max(started_at) from onceward.run)))
  on conflict ((true)) where accepted_at is null do nothing;
  select l.id into noticed from onceward.server_life l where l.accepted_at is null;
  return noticed;
end $$;

-- Readers of logs whose position the broker keeps are set back to what this copy knows was settled: the broker's own position may lead it. What
-- comes again and is here is recognised. Where the store keeps the position, reading goes on from there by itself.
create function onceward.accept_server(seen bigint, because text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare life onceward.server_life; now_is record; n_back integer;
begin
  select * into life from onceward.server_life l where l.accepted_at is null for update;
  if not found then return onceward.refuse('restore accept', null, seen::text, 'Nothing waits to be accepted.'); end if;
  if life.id <> seen then
    return onceward.refuse('restore accept', null, seen::text, format('What waits is number %s. Look at it first.', life.id)); end if;
  if coalesce(btrim(because), '') = '' then return onceward.refuse('restore accept', null, seen::text, 'Say why.'); end if;
  select * into now_is from onceward.server_now();
  if not onceward.same_life(life, now_is.system_identifier, now_is.timeline, now_is.database_oid) then
    update onceward.server_life set system_identifier = now_is.system_identifier, timeline = now_is.timeline,
      database_oid = now_is.database_oid, noticed_at = clock_timestamp() where id = life.id;
    return onceward.refuse('restore accept', null, seen::text, 'The server has changed once more since. Look again.');
  end if;
  insert into onceward.gap (consumer_id, partition, from_incarnation, from_next, to_incarnation, to_next, records, reason, declared_by,
    accepted_at, accepted_by, accepted_because)
  select c.consumer_id, c.partition, c.incarnation, c.next, c.incarnation, c.next, 0,
    'the database is another copy (restore ' || life.id || '): read again from what it knows', c.run_id,
    clock_timestamp(), onceward.actor(), because
  from onceward.checkpoint c join onceward.consumer k on k.id = c.consumer_id
  where c.next is not null and exists (
    select from onceward.reading r where r.consumer_name = k.name and r.keeper = 'broker')
  on conflict (consumer_id, partition, from_incarnation, from_next) where resumed_at is null
  do update set to_incarnation = excluded.to_incarnation, to_next = excluded.to_next, reason = excluded.reason,
    accepted_at = excluded.accepted_at, accepted_by = excluded.accepted_by, accepted_because = excluded.accepted_because;
  get diagnostics n_back = row_count;
  update onceward.server_life set accepted_at = clock_timestamp(), accepted_by = onceward.actor(), accepted_because = because where id = life.id;
  perform onceward.audit_entry('restore accept', 'done', null, seen::text, because, jsonb_build_object('timeline', life.timeline,
    'system', life.system_identifier, 'survivedTo', life.survived_to, 'noticedAt', life.noticed_at, 'partitionsSetBack', n_back));
  return jsonb_build_object('ok', true, 'partitionsSetBack', n_back);
end $$;

-- Who reads what, under which name it remembers. A name that is new where another was reading has none of its memory.
create table onceward.reading (
  consumer_name text collate "C" not null,
  kind          text collate "C" not null,
  place         text collate "C" not null,
  reader        text collate "C" not null,
  keeper        text not null,
  first_at      timestamptz not null default clock_timestamp(),
  last_at       timestamptz not null default clock_timestamp(),
  primary key (consumer_name, kind, place, reader)
);
create index reading_of on onceward.reading (kind, place, reader);

-- Answers with whoever read this before under another name, when the caller's never has; else notes the caller.
create function onceward.note_reading(consumer text, of_kind text, of_place text, by_reader text, kept_by text,
  out other text, out last_at timestamptz)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update onceward.reading r set keeper = kept_by, last_at = clock_timestamp()
  where r.consumer_name = consumer and r.kind = of_kind and r.place = of_place and r.reader = by_reader;
  if found then return; end if;
  perform pg_advisory_xact_lock(hashtext('onceward.reading'), hashtext(of_place));
  select r.consumer_name, r.last_at into other, note_reading.last_at from onceward.reading r
  where r.kind = of_kind and r.place = of_place and r.reader = by_reader and r.consumer_name <> consumer
  order by r.last_at desc limit 1;
  if other is not null then return; end if;
  insert into onceward.reading (consumer_name, kind, place, reader, keeper) values (consumer, of_kind, of_place, by_reader, kept_by)
  on conflict do nothing;
end $$;

-- The same queue or group under two names on purpose: each remembers for itself, and what comes to both is applied by both.
create function onceward.separate_reader(consumer text, other text, because text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare added integer;
begin
  if coalesce(btrim(because), '') = '' then return onceward.refuse('consumers separate', consumer, other, 'Say why.'); end if;
  insert into onceward.reading (consumer_name, kind, place, reader, keeper)
  select consumer, r.kind, r.place, r.reader, r.keeper from onceward.reading r where r.consumer_name = other on conflict do nothing;
  get diagnostics added = row_count;
  if added = 0 then
    return onceward.refuse('consumers separate', consumer, other, format('Nothing is known to be read by "%s" alone.', other)); end if;
  perform onceward.audit_entry('consumers separate', 'done', consumer, other, because);
  return jsonb_build_object('ok', true);
end $$;

-- Markers, parked messages and positions belong to a number and follow the name; the ledger's rows carry the name and are written anew.
create function onceward.rename_consumer(old_name text, new_name text, because text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare n_ledger bigint;
begin
  if coalesce(btrim(because), '') = '' then return onceward.refuse('consumers rename', old_name, new_name, 'Say why.'); end if;
  if new_name !~ '^[a-z][a-z0-9_]{0,47}$' then
    return onceward.refuse('consumers rename', old_name, left(new_name, 100), 'The new name is no name of a consumer.'); end if;
  perform from onceward.consumer c where c.name = old_name for update;
  if not found then return onceward.refuse('consumers rename', old_name, new_name, 'There is no such consumer.'); end if;
  if exists (select from onceward.consumer c where c.name = new_name)
    or exists (select from onceward.ledger l where l.consumer_name = new_name) then
    return onceward.refuse('consumers rename', old_name, new_name, 'The new name has a memory of its own already.'); end if;
  if exists (select from onceward.run r join onceward.consumer c on c.id = r.consumer_id
    where c.name = old_name and r.ended_at is null and r.heard_at > clock_timestamp() - interval '30 seconds') then
    return onceward.refuse('consumers rename', old_name, new_name, 'It is running. Stop all its processes first.'); end if;
  if exists (select from onceward.campaign p where p.consumer_name = old_name and p.state not in ('finished', 'cancelled')) then
    return onceward.refuse('consumers rename', old_name, new_name, 'It has campaigns under way. Finish or cancel them first.'); end if;
  update onceward.consumer set name = new_name where name = old_name;
  update onceward.reading set consumer_name = new_name where consumer_name = old_name;
  update onceward.ledger set consumer_name = new_name where consumer_name = old_name;
  get diagnostics n_ledger = row_count;
  perform onceward.audit_entry('consumers rename', 'done', new_name, old_name, because, jsonb_build_object('ledgerRows', n_ledger));
  return jsonb_build_object('ok', true, 'ledgerRows', n_ledger);
end $$;

-- The clusters this database is fed by. The first of a kind is taken as it comes; another one is another environment until a person says no.
create table onceward.broker (
  kind     text collate "C" not null,
  cluster  text collate "C" not null,
  first_at timestamptz not null default clock_timestamp(),
  added_by text not null default session_user,
  because  text not null default 'the first of its kind',
  primary key (kind, cluster)
);

create function onceward.meet_broker(of_kind text, of_cluster text) returns text[]
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare others text[];
begin
  if exists (select from onceward.broker b where b.kind = of_kind and b.cluster = of_cluster) then return '{}'; end if;
  perform pg_advisory_xact_lock(hashtext('onceward.broker'), hashtext(of_kind));
  others := array(select b.cluster from onceward.broker b where b.kind = of_kind order by b.first_at);
  if cardinality(others) = 0 then
    insert into onceward.broker (kind, cluster) values (of_kind, of_cluster) on conflict do nothing;
  elsif of_cluster = any (others) then others := '{}';
  end if;
  return others;
end $$;

create function onceward.accept_broker(of_kind text, of_cluster text, because text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if coalesce(btrim(because), '') = '' then return onceward.refuse('brokers accept', null, of_cluster, 'Say why.'); end if;
  insert into onceward.broker (kind, cluster, added_by, because) values (of_kind, of_cluster, onceward.actor(), because) on conflict do nothing;
  if not found then return onceward.refuse('brokers accept', null, of_cluster, 'This cluster is accepted already.'); end if;
  perform onceward.audit_entry('brokers accept', 'done', null, of_kind || ' ' || of_cluster, because);
  return jsonb_build_object('ok', true);
end $$;

revoke execute on function onceward.accept_server, onceward.separate_reader, onceward.rename_consumer, onceward.accept_broker from public;
`
