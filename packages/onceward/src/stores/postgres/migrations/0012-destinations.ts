/**
 * A row of the outbox names its destination: the cluster and virtual host that it is for, and not only the kind of broker. Relays lease
 * buckets per destination, so that a relay never takes a row for a broker that it is not connected to.
 */
export const destinations = `
alter table onceward.outbox add column destination text collate "C" not null;
alter table onceward.outbox drop constraint outbox_pkey;
alter table onceward.outbox add primary key (destination, bucket, id);

-- Relays of older versions lease by the kind of broker. They fail at these columns and publish nothing more.
delete from onceward.relay;
delete from onceward.outbox_bucket;
alter table onceward.relay rename column broker to destination;
alter table onceward.outbox_bucket rename column broker to destination;

-- The brokers that processes of this database have reached. mark is the name of an exchange in the virtual host that proves that a node
-- belongs to this destination; null where none could be declared, and for Kafka, whose cluster id is proof enough.
create table onceward.destination (
  name         text collate "C" primary key,
  kind         text collate "C" not null,
  virtual_host text collate "C" not null default '',
  mark         text,
  first_at     timestamptz not null default clock_timestamp()
);

-- Every name under which a destination was met. Without a set cluster name, each node of a RabbitMQ cluster announces a name of its own.
create table onceward.destination_cluster (
  kind         text collate "C" not null,
  virtual_host text collate "C" not null,
  cluster      text collate "C" not null,
  destination  text collate "C" not null,
  first_at     timestamptz not null default clock_timestamp(),
  primary key (kind, virtual_host, cluster)
);

-- For writers that have no address of the broker. With one destination of the kind it is that one; with none yet it is the bare kind, which
-- the relay of the first destination adopts; with several the writer has to name one.
create function onceward.default_destination(of_kind text) returns text
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare names text[];
begin
  if of_kind in ('postgres', 'cdc') then return of_kind; end if;
  names := array(select d.name from onceward.destination d where d.kind = of_kind order by d.first_at, d.name limit 6);
  if cardinality(names) > 1 then
    raise exception 'This database publishes to several % destinations (%). Nothing was written. Name one, by destination in the publish target, or retire those that are gone: onceward destinations.',
      of_kind, array_to_string(names, ', ') using errcode = '22023';
  end if;
  return coalesce(names[1], of_kind);
end $$;

-- Rows for the bare kind go to the only destination of that kind. With several, they stay and are counted as not served: the answer is null.
create function onceward.adopt_outbox(by_destination text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare adopted bigint; of_kind text;
begin
  select d.kind into of_kind from onceward.destination d where d.name = by_destination;
  if of_kind is null or exists (select from onceward.destination d where d.kind = of_kind and d.name <> by_destination) then
    return null; end if;
  if not exists (select from onceward.outbox o where o.destination = of_kind) then return 0; end if;
  update onceward.outbox set destination = by_destination where destination = of_kind;
  get diagnostics adopted = row_count;
  return adopted;
end $$;

-- A cluster that was replaced, or a name that was wrong, would count as one of several for ever. What waits for it, or for the bare kind, is sent
-- elsewhere only by a person, and only while no relay sends it there.
create function onceward.retire_destination(of_name text, to_name text, because text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare moved bigint; of_kind text := split_part(of_name, ':', 1); waits boolean;
begin
  if coalesce(btrim(because), '') = '' then return onceward.refuse('destinations retire', null, of_name, 'Say why.'); end if;
  perform pg_advisory_xact_lock(hashtext('onceward.destination'), hashtext(of_kind));
  waits := exists (select from onceward.outbox o where o.destination = of_name);
  if of_kind not in ('rabbitmq', 'kafka') or not waits and not exists (select from onceward.destination d where d.name = of_name) then
    return onceward.refuse('destinations retire', null, of_name, format('No destination "%s" is known, and nothing waits for it.', of_name)); end if;
  if exists (select from onceward.relay r where r.destination = of_name and r.until > clock_timestamp()) then
    return onceward.refuse('destinations retire', null, of_name, format('A relay is connected to "%s". Stop it first.', of_name)); end if;
  if waits and to_name is null then
    return onceward.refuse('destinations retire', null, of_name, 'Messages wait for it. Say where they are to go: --to.'); end if;
  if to_name is not null and (to_name = of_name
    or not exists (select from onceward.destination d where d.name = to_name and d.kind = of_kind)) then
    return onceward.refuse('destinations retire', null, of_name, format('"%s" is no other %s destination that was reached.', to_name, of_kind)); end if;
  update onceward.outbox set destination = to_name, failures = 0, last_error = null where destination = of_name;
  get diagnostics moved = row_count;
  delete from onceward.destination_cluster c where c.destination = of_name;
  delete from onceward.destination d where d.name = of_name;
  delete from onceward.relay r where r.destination = of_name;
  delete from onceward.outbox_bucket b where b.destination = of_name;
  perform onceward.audit_entry('destinations retire', 'done', null, of_name, because, jsonb_build_object('to', to_name, 'moved', moved));
  return jsonb_build_object('ok', true, 'moved', moved);
end $$;
revoke execute on function onceward.retire_destination from public;

-- Destinations whose rows no live relay carries, counted up to 100,000 each. Walks the primary key from one destination to the next.
create view onceward.outbox_unserved as
  with recursive found (name) as (
    (select o.destination from onceward.outbox o order by o.destination limit 1)
    union all
    select (select o.destination from onceward.outbox o where o.destination > found.name order by o.destination limit 1)
    from found where found.name is not null
  )
  select found.name as destination, min(counted.broker) as broker, count(*)::integer as waiting, min(counted.created_at) as oldest_at
  from found cross join lateral (
    select o.broker, o.created_at from onceward.outbox o where o.destination = found.name limit 100000) counted
  where found.name <> 'cdc' and not exists (
    select from onceward.relay r where r.destination = found.name and r.until > clock_timestamp())
  group by found.name;

-- Where a run's messages go, by kind of broker: for the runs of the same consumer that have no address.
alter table onceward.run add column destinations jsonb;

-- Two queues of one name in two virtual hosts are two places. Null: noted by a version that did not know the virtual host.
alter table onceward.reading add column virtual_host text collate "C";
alter table onceward.reading drop constraint reading_pkey;
alter table onceward.reading add unique nulls not distinct (consumer_name, kind, place, reader, virtual_host);

drop function onceward.note_reading(text, text, text, text, text);

-- Answers with whoever read this before under another name, when the caller's never has; else notes the caller. A reading whose virtual host
-- is not known may be of this one: the same consumer takes it over, another one is refused as before.
create function onceward.note_reading(consumer text, of_kind text, of_place text, by_reader text, kept_by text, of_host text,
  out other text, out last_at timestamptz)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update onceward.reading r set keeper = kept_by, last_at = clock_timestamp()
  where r.consumer_name = consumer and r.kind = of_kind and r.place = of_place and r.reader = by_reader and r.virtual_host = of_host;
  if found then return; end if;
  perform pg_advisory_xact_lock(hashtext('onceward.reading'), hashtext(of_place));
  update onceward.reading r set keeper = kept_by, last_at = clock_timestamp(), virtual_host = of_host
  where r.consumer_name = consumer and r.kind = of_kind and r.place = of_place and r.reader = by_reader and r.virtual_host is null
    and not exists (select from onceward.reading s where s.consumer_name = consumer and s.kind = of_kind and s.place = of_place
      and s.reader = by_reader and s.virtual_host = of_host);
  if found then return; end if;
  select r.consumer_name, r.last_at into other, note_reading.last_at from onceward.reading r
  where r.kind = of_kind and r.place = of_place and r.reader = by_reader and r.consumer_name <> consumer
    and coalesce(r.virtual_host, of_host) = of_host
  order by r.last_at desc limit 1;
  if other is not null then return; end if;
  insert into onceward.reading (consumer_name, kind, place, reader, keeper, virtual_host)
  values (consumer, of_kind, of_place, by_reader, kept_by, of_host) on conflict do nothing;
end $$;

create or replace function onceward.separate_reader(consumer text, other text, because text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare added integer;
begin
  if coalesce(btrim(because), '') = '' then return onceward.refuse('consumers separate', consumer, other, 'Say why.'); end if;
  insert into onceward.reading (consumer_name, kind, place, reader, keeper, virtual_host)
  select consumer, r.kind, r.place, r.reader, r.keeper, r.virtual_host from onceward.reading r where r.consumer_name = other
  on conflict do nothing;
  get diagnostics added = row_count;
  if added = 0 then
    return onceward.refuse('consumers separate', consumer, other, format('Nothing is known to be read by "%s" alone.', other)); end if;
  perform onceward.audit_entry('consumers separate', 'done', consumer, other, because);
  return jsonb_build_object('ok', true);
end $$;

-- Roles that exist already keep what they had.
do $$ begin
  if exists (select from pg_roles where rolname = 'onceward_run')
    and has_schema_privilege('onceward_run', 'onceward', 'usage') then
    grant select, insert, update, delete on onceward.destination, onceward.destination_cluster to onceward_run;
    grant select on onceward.outbox_unserved to onceward_run;
    grant execute on function onceward.default_destination, onceward.adopt_outbox, onceward.note_reading to onceward_run;
  end if;
  if exists (select from pg_roles where rolname = 'onceward_operator')
    and has_schema_privilege('onceward_operator', 'onceward', 'usage') then
    grant select on onceward.destination, onceward.destination_cluster, onceward.outbox_unserved to onceward_operator, onceward_approver, onceward_console;
  end if;
end $$;
`
