/**
 * Markers in daily partitions, for consumers whose message ids contain their time. `onceward.inbox` stays a
 * plain table until the owner runs "onceward retention partition", and is then
 *
 *   inbox ── by consumer ──┬─ inbox_rest: the former table, for all other consumers
 *                          └─ inbox_<id> ── by message_id ──┬─ inbox_<id>_<yyyymmdd>, a day each
 *                                                           └─ inbox_<id>_rest: every other id
 *
 * Only the key of a row decides its partition, so the primary key is unique over all of them, for any id.
 */
export const markerDays = `
create table onceward.marker_days (
  consumer_id integer primary key,
  id_format     text not null check (id_format in ('uuidv7', 'ulid')),
  since       timestamptz not null default clock_timestamp()
);

-- The smallest text that an id of that day can have in its usual spelling: the first millisecond, as both
-- formats write it. An id in another spelling only falls on another day.
create function onceward.day_bound(form text, day date) returns text language sql immutable
return (
  with at as (select extract(epoch from day::timestamp)::bigint * 1000 as ms)
  select case form
    when 'uuidv7' then overlay(lpad(to_hex(ms), 12, '0') placing '-' from 9 for 0)
    when 'ulid' then (
      select string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ',
        ((ms >> (45 - 5 * n)) & 31)::integer + 1, 1), '' order by n)
      from generate_series(0, 9) as n)
  end from at);

-- Copies the grants on the markers to a partition: passes of retention work on the partitions.
create function onceward.copy_grants(part text, as_on regclass) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare granted record;
begin
  for granted in
    select a.privilege_type as what,
      case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end as whom
    from pg_class c, aclexplode(c.relacl) a where c.oid = as_on and a.grantee <> c.relowner
  loop
    execute format('grant %s on onceward.%I to %s', granted.what, part, granted.whom);
  end loop;
end $$;

-- A rebuild recognises markers written since its swap by their transaction, and forgets them when it is
-- rolled back. A marker that was moved to another partition would be forgotten too.
create function onceward.has_open_rebuild(of_consumer integer) returns boolean language sql stable
set search_path = pg_catalog, pg_temp as $$
  select exists (
    select from onceward.campaign c
    join onceward.consumer o on o.name = c.consumer_name and o.generation = c.live_generation
    where o.id = of_consumer and c.mode = 'rebuild'
      and c.state not in ('created', 'previewed', 'finished', 'cancelled'));
$$;

-- Locks go from the parent to its partitions, as those of an insert do, so no deadlock can arise; each lock
-- is waited for briefly. The parent must not be used meanwhile: an insert that has already chosen its
-- partition would write its row to the rest, and fail there (23514). Rows of the day that are in the rest are
-- moved. If there are many, or the rest takes long to read, the day stays in the rest.
create function onceward.make_day(of_consumer integer, day date) returns text language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  whole text := 'inbox_' || of_consumer; rest text := 'inbox_' || of_consumer || '_rest';
  part text := 'inbox_' || of_consumer || to_char(day, '_YYYYMMDD');
  form text; low text; high text; there integer; few constant integer := 1000;
  rest_max constant bigint := 64 * 1024 * 1024;
begin
  if to_regclass('onceward.' || part) is not null then return 'there'; end if;
  select m.id_format into strict form from onceward.marker_days m where m.consumer_id = of_consumer;
  low := onceward.day_bound(form, day);
  high := onceward.day_bound(form, day + 1);
  execute format('lock table only onceward.%I in access exclusive mode', whole);
  if to_regclass('onceward.' || part) is not null then return 'there'; end if;
  execute format('lock table onceward.%I in access exclusive mode', rest);
  if pg_relation_size(to_regclass('onceward.' || rest)) > rest_max then return 'stays'; end if;
  execute format('select count(*) from (select from onceward.%I '
    'where consumer_id = $1 and message_id >= $2 and message_id < $3 limit $4) r', rest)
    into there using of_consumer, low, high, few + 1;
  if there > few or there > 0 and onceward.has_open_rebuild(of_consumer) then return 'stays'; end if;
  execute format('create table onceward.%I (like onceward.%I including all)', part, rest);
  if there > 0 then
    execute format('with r as (delete from onceward.%I '
      'where consumer_id = $1 and message_id >= $2 and message_id < $3 returning *)
      insert into onceward.%I select * from r', rest, part) using of_consumer, low, high;
  end if;
  execute format('alter table onceward.%I attach partition onceward.%I for values from (%L) to (%L)',
    whole, part, low, high);
  perform onceward.copy_grants(part, 'onceward.inbox');
  return 'made';
end $$;

-- Creates partitions for yesterday and the next days; called by every pass. Days that the pass would drop
-- again are left out.
create function onceward.make_days(of_consumer integer) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '300ms' as $$
declare today date := (clock_timestamp() at time zone 'UTC')::date; day date; said text; made text[] := '{}';
  stays text[] := '{}';
begin
  if not exists (select from onceward.marker_days m where m.consumer_id = of_consumer) then
    raise exception
      'The markers of consumer % are not partitioned by day. Run "onceward retention partition". '
      'Nothing was changed.',
      of_consumer; end if;
  foreach day in array array[today - 1, today, today + 1, today + 2, today + 3] loop
    continue when exists (select from onceward.retention r where r.consumer_id = of_consumer
      and r.kind = 'markers'
      and (day + 1)::timestamp at time zone 'UTC' <= clock_timestamp() - r.keep);
    said := onceward.make_day(of_consumer, day);
    if said = 'made' then made := made || day::text;
    elsif said = 'stays' then stays := stays || day::text; end if;
  end loop;
  return jsonb_build_object('made', made, 'stays', stays);
end $$;

-- The three steps of "onceward retention partition", in one transaction of the owner. The first creates the
-- partitions, not yet attached, and moves the markers of the consumer into them; rows of others are not
-- touched.
create function onceward.build_days(of_consumer integer, form text, oldest date) returns bigint
  language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare whole text := 'inbox_' || of_consumer; day date;
  today date := (clock_timestamp() at time zone 'UTC')::date;
begin
  insert into onceward.marker_days (consumer_id, id_format) values (of_consumer, form);
  execute format('create table onceward.%I (like onceward.inbox '
    'including defaults including constraints including storage,
    primary key (consumer_id, message_id)) partition by range (message_id)', whole);
  execute format('create table onceward.%I partition of onceward.%I default', whole || '_rest', whole);
  perform onceward.copy_grants(whole, 'onceward.inbox'),
    onceward.copy_grants(whole || '_rest', 'onceward.inbox');
  for day in select oldest + n from generate_series(0, today + 3 - oldest) as n loop
    continue when day < today - 1 and not exists (select from onceward.inbox i
      where i.consumer_id = of_consumer
      and i.message_id >= onceward.day_bound(form, day) and i.message_id < onceward.day_bound(form, day + 1));
    perform onceward.make_day(of_consumer, day);
  end loop;
  return onceward.move_to_days(of_consumer);
end $$;

create function onceward.move_to_days(of_consumer integer) returns bigint language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare moved bigint;
begin
  execute format('with r as (delete from onceward.inbox where consumer_id = $1 returning *) '
    'insert into onceward.%I select * from r', 'inbox_' || of_consumer) using of_consumer;
  get diagnostics moved = row_count;
  return moved;
end $$;

-- The second: from here on every insert of markers waits. It retries with short lock timeouts, so that a long
-- transaction does not make others queue behind this one.
create function onceward.lock_inbox() returns void language plpgsql
set search_path = pg_catalog, pg_temp set lock_timeout = '300ms' as $$
declare tries constant integer := 10;
begin
  for n in 1 .. tries loop
    begin
      lock table only onceward.inbox in access exclusive mode;
      if to_regclass('onceward.inbox_rest') is not null then
        lock table onceward.inbox_rest in access exclusive mode; end if;
      return;
    exception when lock_not_available then
      if n = tries then raise; end if;
    end;
  end loop;
end $$;

-- The third. Attached as the default, the old table is neither read nor written, and its index becomes a part
-- of the new one. Attaching the partitions of the consumer then reads the old table once. It must contain no
-- row of the consumer, so rows that arrived meanwhile are moved first.
create function onceward.attach_days(of_consumer integer) returns bigint language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare came bigint := onceward.move_to_days(of_consumer);
begin
  if (select relkind from pg_class where oid = 'onceward.inbox'::regclass) = 'r' then
    alter table onceward.inbox rename to inbox_rest;
    alter table onceward.inbox_rest rename constraint inbox_pkey to inbox_rest_pkey;
    create table onceward.inbox (
      like onceward.inbox_rest including defaults including constraints including storage,
      constraint inbox_pkey primary key (consumer_id, message_id)) partition by list (consumer_id);
    perform onceward.copy_grants('inbox', 'onceward.inbox_rest');
    alter table onceward.inbox attach partition onceward.inbox_rest default;
  end if;
  execute format('alter table onceward.inbox attach partition onceward.%I for values in (%s)',
    'inbox_' || of_consumer, of_consumer);
  return came;
end $$;
`
