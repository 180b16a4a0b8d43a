/**
 * Markers in daily partitions, for consumers whose ids tell the day. Nothing here changes a database in which nobody asks for it: `onceward.inbox`
 * stays a plain table until the owner runs "onceward retention partition", and is then
 *
 *   inbox ── by consumer ──┬─ inbox_rest: the table of before, for everybody else
 *                          └─ inbox_<id> ── by message_id ──┬─ inbox_<id>_<yyyymmdd>, a day each
 *                                                           └─ inbox_<id>_rest: every other id
 *
 * A row's place is decided by its key alone, so the primary key is unique over all of them, whatever an id looks like.
 */
export const markerDays = `
create table onceward.marker_days (
  consumer_id integer primary key,
  id_time     text not null check (id_time in ('uuidv7', 'ulid')),
  since       timestamptz not null default clock_timestamp()
);

-- The first text an id of that day, in its usual spelling, can be: the first millisecond, as both forms write it. Of another spelling it is only another day.
create function onceward.day_bound(form text, day date) returns text language sql immutable
return (
  with at as (select extract(epoch from day::timestamp)::bigint * 1000 as ms)
  select case form
    when 'uuidv7' then overlay(lpad(to_hex(ms), 12, '0') placing '-' from 9 for 0)
    when 'ulid' then (
      select string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', ((ms >> (45 - 5 * n)) & 31)::integer + 1, 1), '' order by n)
      from generate_series(0, 9) as n)
  end from at);

-- Whoever may do something to the markers may do it to a part of them: passes of retention work on the parts.
create function onceward.grant_same(part text, as_on regclass) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare granted record;
begin
  for granted in
    select a.privilege_type as what, case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end as whom
    from pg_class c, aclexplode(c.relacl) a where c.oid = as_on and a.grantee <> c.relowner
  loop
    execute format('grant %s on onceward.%I to %s', granted.what, part, granted.whom);
  end loop;
end $$;

-- By the transaction that wrote a marker a rebuild tells what was applied since its swap, and forgets it when it is rolled back: a marker that moved would go with it.
create function onceward.is_rebuilt(of integer) returns boolean language sql stable set search_path = pg_catalog, pg_temp as $$
  select exists (select from onceward.campaign c join onceward.consumer o on o.name = c.consumer_name and o.generation = c.live_generation
    where o.id = of and c.mode = 'rebuild' and c.state not in ('created', 'previewed', 'finished', 'cancelled'));
$$;

-- Locks go from the whole to its parts, as those of a claim do, so no circle can close; and they are waited for briefly. Nobody may be in the whole: a claim that has
-- seen its parts already would take its row to the rest, and be refused there (23514). Rows of the day that are in the rest already move; where they are many, or
-- the rest takes long to read through, the day stays in it.
create function onceward.make_day(of integer, day date) returns text language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  whole text := 'inbox_' || of; rest text := 'inbox_' || of || '_rest'; part text := 'inbox_' || of || to_char(day, '_YYYYMMDD');
  form text; low text; high text; there integer; few constant integer := 1000; rest_max constant bigint := 64 * 1024 * 1024;
begin
  if to_regclass('onceward.' || part) is not null then return 'there'; end if;
  select m.id_time into strict form from onceward.marker_days m where m.consumer_id = of;
  low := onceward.day_bound(form, day);
  high := onceward.day_bound(form, day + 1);
  execute format('lock table only onceward.%I in access exclusive mode', whole);
  if to_regclass('onceward.' || part) is not null then return 'there'; end if;
  execute format('lock table onceward.%I in access exclusive mode', rest);
  if pg_relation_size(to_regclass('onceward.' || rest)) > rest_max then return 'stays'; end if;
  execute format('select count(*) from (select from onceward.%I where consumer_id = $1 and message_id >= $2 and message_id < $3 limit $4) r', rest)
    into there using of, low, high, few + 1;
  if there > few or there > 0 and onceward.is_rebuilt(of) then return 'stays'; end if;
  execute format('create table onceward.%I (like onceward.%I including all)', part, rest);
  if there > 0 then
    execute format('with r as (delete from onceward.%I where consumer_id = $1 and message_id >= $2 and message_id < $3 returning *)
      insert into onceward.%I select * from r', rest, part) using of, low, high;
  end if;
  execute format('alter table onceward.%I attach partition onceward.%I for values from (%L) to (%L)', whole, part, low, high);
  perform onceward.grant_same(part, 'onceward.inbox');
  return 'made';
end $$;

-- Yesterday and the next days, called by every pass. None that a pass would only drop again.
create function onceward.make_days(of integer) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '300ms' as $$
declare today date := (clock_timestamp() at time zone 'UTC')::date; day date; said text; made text[] := '{}'; stays text[] := '{}';
begin
  if not exists (select from onceward.marker_days m where m.consumer_id = of) then
    raise exception 'The markers of consumer % are not in days. Run "onceward retention partition". Nothing was changed.', of; end if;
  foreach day in array array[today - 1, today, today + 1, today + 2, today + 3] loop
    continue when exists (select from onceward.retention r where r.consumer_id = of and r.kind = 'markers'
      and (day + 1)::timestamp at time zone 'UTC' <= clock_timestamp() - r.keep);
    said := onceward.make_day(of, day);
    if said = 'made' then made := made || day::text; elsif said = 'stays' then stays := stays || day::text; end if;
  end loop;
  return jsonb_build_object('made', made, 'stays', stays);
end $$;

-- Called by whoever runs the consumer, so it believes nothing it is told: a day before Christ has the name of one of ours.
create function onceward.assert_past(of integer, day date, cutoff timestamptz) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from onceward.retention r where r.consumer_id = of and r.kind = 'markers' and r.action = 'delete'
      and cutoff <= clock_timestamp() - r.keep and (day + 1)::timestamp at time zone 'UTC' <= cutoff and day > date '1970-01-01')
    or exists (select from onceward.held h where h.consumer_id = of and h.state in ('stored', 'waiting', 'parked') and h.first_at < cutoff) then
    raise exception 'Day % of consumer % may not be forgotten yet. Nothing was changed.', day, of; end if;
end $$;

-- One row for each that is written in a sealed day: by it whoever has looked through the day knows that it is still what was seen.
create table onceward.late_marker (part oid not null);
create index late_marker_part on onceward.late_marker (part);

create function onceward.note_late() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  insert into onceward.late_marker values (tg_relid);
  return null;
end $$;

-- From its commit on every write in the day is noted; whoever was writing is waited for, briefly. Only that day is locked.
create function onceward.seal_day(of integer, day date, cutoff timestamptz) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '300ms' as $$
declare part text := 'inbox_' || of || to_char(day, '_YYYYMMDD');
begin
  perform onceward.assert_past(of, day, cutoff);
  if not pg_try_advisory_xact_lock(x'72657461'::integer, of) or to_regclass('onceward.' || part) is null
    or exists (select from pg_trigger where tgrelid = to_regclass('onceward.' || part) and tgname = 'sealed') then return; end if;
  execute format('create trigger sealed after insert or update or delete on onceward.%I for each row execute function onceward.note_late()', part);
end $$;

-- Forgets a day in one step, once it is sealed, and asks for that where little must stay. It is looked through without a lock; under the lock, which everybody waits for who claims for this consumer, it is only
-- asked whether anything was written since: 2 million markers are counted in a second, and dropped in milliseconds. Locks go from the whole to its parts, as a
-- claim takes them, and are waited for briefly: a claim that holds the whole may wait for the day, but never we for it meanwhile. What must stay goes to the
-- rest, where its id leads from then on. Under a snapshot from before the lock nothing would seem to have been written since.
create function onceward.drop_day(of integer, day date, cutoff timestamptz) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '300ms' as $$
declare
  whole text := 'inbox_' || of; part text := 'inbox_' || of || to_char(day, '_YYYYMMDD'); leaf oid;
  sealed boolean; late bigint; total bigint; staying bigint; kept text[]; few constant integer := 1000;
  stays constant text := $cond$ not (t.at < $1 and (t.status in ('applied', 'ignored', 'duplicate', 'stale') or (t.status in ('dead', 'quarantined')
    and not exists (select from onceward.held h where h.consumer_id = t.consumer_id and h.message_id = t.message_id
      and h.state in ('parked', 'dead', 'quarantined') offset 0)))) $cond$;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'A day is dropped in a transaction that is read committed, not %. Nothing was changed.', current_setting('transaction_isolation'); end if;
  perform onceward.assert_past(of, day, cutoff);
  if not pg_try_advisory_xact_lock(x'72657461'::integer, of) then return jsonb_build_object('did', 'nothing'); end if;
  leaf := to_regclass('onceward.' || part);
  if leaf is null then return jsonb_build_object('did', 'dropped', 'removed', 0, 'kept', 0); end if;
  sealed := exists (select from pg_trigger where tgrelid = leaf and tgname = 'sealed');
  if not sealed or (select count(*) from onceward.late_marker l where l.part = leaf) > few then
    execute format('select count(*) from (select from onceward.%I t where %s limit $2) r', part, stays) into staying using cutoff, few + 1;
    if staying > few then return jsonb_build_object('did', 'stays'); end if;
  end if;
  if not sealed then return jsonb_build_object('did', 'seal'); end if;
  execute format('select (select count(*) from onceward.late_marker where part = $2), count(*), array_agg(t.message_id) filter (where %s) from onceward.%I t', stays, part)
    into late, total, kept using cutoff, leaf;
  if cardinality(kept) > few or kept is not null and onceward.is_rebuilt(of) then return jsonb_build_object('did', 'stays'); end if;
  execute format('lock table only onceward.%I in access exclusive mode', whole);
  execute format('lock table onceward.%I, onceward.%I in access exclusive mode', whole || '_rest', part);
  if late <> (select count(*) from onceward.late_marker l where l.part = leaf) then return jsonb_build_object('did', 'waits'); end if;
  execute format('alter table onceward.%I detach partition onceward.%I', whole, part);
  execute format('insert into onceward.%I select * from onceward.%I where consumer_id = $1 and message_id = any ($2)', whole, part) using of, kept;
  execute format('drop table onceward.%I', part);
  delete from onceward.late_marker l where l.part = leaf;
  staying := coalesce(cardinality(kept), 0);
  if total > staying then perform onceward.count_forgotten(of, total - staying, cutoff); end if;
  return jsonb_build_object('did', 'dropped', 'removed', total - staying, 'kept', staying);
end $$;

create function onceward.count_forgotten(of integer, markers bigint, cutoff timestamptz) returns void language sql as $$
  insert into onceward.horizon as h (consumer_id, purged_before, purged_count) values (of, cutoff, markers)
  on conflict (consumer_id) do update set purged_before = greatest(h.purged_before, excluded.purged_before),
    purged_count = h.purged_count + excluded.purged_count, at = clock_timestamp();
  update onceward.retention set purged_count = purged_count + markers where consumer_id = of and kind = 'markers';
  insert into onceward.purged as p (consumer_id, kind, count, before) values (of, 'markers', markers, cutoff)
  on conflict (consumer_id, kind, day) do update set count = p.count + excluded.count, last_at = excluded.last_at,
    before = greatest(p.before, excluded.before);
$$;

-- The three steps of "onceward retention partition", in one transaction of the owner. The first makes the parts, not yet attached, and moves what is remembered into them; rows
-- of others are not touched.
create function onceward.build_days(of integer, form text, oldest date) returns bigint language plpgsql set search_path = pg_catalog, pg_temp as $$
declare whole text := 'inbox_' || of; today date := (clock_timestamp() at time zone 'UTC')::date; day date;
begin
  insert into onceward.marker_days (consumer_id, id_time) values (of, form);
  execute format('create table onceward.%I (like onceward.inbox including defaults including constraints including storage,
    primary key (consumer_id, message_id)) partition by range (message_id)', whole);
  execute format('create table onceward.%I partition of onceward.%I default', whole || '_rest', whole);
  perform onceward.grant_same(whole, 'onceward.inbox'), onceward.grant_same(whole || '_rest', 'onceward.inbox');
  for day in select oldest + n from generate_series(0, today + 3 - oldest) as n loop
    continue when day < today - 1 and not exists (select from onceward.inbox i where i.consumer_id = of
      and i.message_id >= onceward.day_bound(form, day) and i.message_id < onceward.day_bound(form, day + 1));
    perform onceward.make_day(of, day);
  end loop;
  return onceward.move_to_days(of);
end $$;

create function onceward.move_to_days(of integer) returns bigint language plpgsql set search_path = pg_catalog, pg_temp as $$
declare moved bigint;
begin
  execute format('with r as (delete from onceward.inbox where consumer_id = $1 returning *) insert into onceward.%I select * from r', 'inbox_' || of) using of;
  get diagnostics moved = row_count;
  return moved;
end $$;

-- From here on everybody waits who claims. Tried again and again with a brief wait each, so that a long transaction in the way holds nobody up behind us.
create function onceward.hold_inbox() returns void language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '300ms' as $$
declare tries constant integer := 10;
begin
  for n in 1 .. tries loop
    begin
      lock table only onceward.inbox in access exclusive mode;
      if to_regclass('onceward.inbox_rest') is not null then lock table onceward.inbox_rest in access exclusive mode; end if;
      return;
    exception when lock_not_available then
      if n = tries then raise; end if;
    end;
  end loop;
end $$;

-- Attached as the default the table of before is neither read nor written, and its index becomes a part of the new one. Attaching the consumer's own then
-- reads it through once: nothing of the consumer may be left in it, and what came meanwhile moves first.
create function onceward.attach_days(of integer) returns bigint language plpgsql set search_path = pg_catalog, pg_temp as $$
declare came bigint := onceward.move_to_days(of);
begin
  if (select relkind from pg_class where oid = 'onceward.inbox'::regclass) = 'r' then
    alter table onceward.inbox rename to inbox_rest;
    alter table onceward.inbox_rest rename constraint inbox_pkey to inbox_rest_pkey;
    create table onceward.inbox (like onceward.inbox_rest including defaults including constraints including storage,
      constraint inbox_pkey primary key (consumer_id, message_id)) partition by list (consumer_id);
    perform onceward.grant_same('inbox', 'onceward.inbox_rest');
    alter table onceward.inbox attach partition onceward.inbox_rest default;
    -- Older code takes a place on a page for a row's alone, which it is not over several tables.
    update onceward.migration set compatible_from = 10 where version = (select max(version) from onceward.migration);
  end if;
  execute format('alter table onceward.inbox attach partition onceward.%I for values in (%s)', 'inbox_' || of, of);
  return came;
end $$;

revoke execute on function onceward.make_days, onceward.seal_day, onceward.drop_day, onceward.assert_past, onceward.note_late, onceward.make_day, onceward.build_days, onceward.move_to_days, onceward.hold_inbox,
  onceward.attach_days, onceward.grant_same, onceward.is_rebuilt, onceward.count_forgotten from public;
`
