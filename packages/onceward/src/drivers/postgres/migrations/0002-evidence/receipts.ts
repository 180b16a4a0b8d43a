/** Evidence of messages that simply succeeded, in tables by day. */
export const receipts = `
-- The receipts of one batch in one row: facts by column, and the digests and payloads one after the other in
-- the order of facts.id. Separate from the markers, which wide rows slow by a quarter. A marker finds its
-- receipt by its time: at is that of the transaction that inserted both. Rows are never changed.
create table onceward.receipt (
  consumer_id integer not null,
  run_id      integer not null,
  at          timestamptz not null default now(),
  count       integer not null,
  facts       json not null,
  digests     bytea not null,
  payloads    bytea,
  -- Set if messages must be found without a marker: they have none, or it is removed earlier.
  id_hashes   bigint[]
) partition by range (at);
create index receipt_of_marker on onceward.receipt (consumer_id, at);
create index receipt_of_id on onceward.receipt using gin (id_hashes) where id_hashes is not null;
-- Receipts of days without a table. No row is refused because a table is missing.
create table onceward.receipt_rest partition of onceward.receipt default;

-- Creates tables for today and the next days. Called at migration, by every start of a consumer that keeps
-- receipts, and by every pass of retention. A day that has rows in the rest stays there.
create function onceward.make_receipt_days() returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '300ms' as $$
declare today date := (clock_timestamp() at time zone 'UTC')::date; day date; part text; made integer := 0;
  low timestamptz; high timestamptz;
begin
  for day in select today + n from generate_series(0, 7) as n loop
    part := to_char(day, '"receipt_"YYYYMMDD');
    continue when to_regclass('onceward.' || part) is not null;
    low := day::timestamp at time zone 'UTC';
    high := (day + 1)::timestamp at time zone 'UTC';
    -- Locks go from the parent to its partitions, as those of an insert do.
    lock table only onceward.receipt in access exclusive mode;
    lock table onceward.receipt_rest in access exclusive mode;
    continue when to_regclass('onceward.' || part) is not null
      or exists (select from onceward.receipt_rest r where r.at >= low and r.at < high);
    execute format('create table onceward.%I partition of onceward.receipt for values from (%L) to (%L)',
      part, low, high);
    perform onceward.copy_grants(part, 'onceward.receipt');
    made := made + 1;
  end loop;
  return made;
end $$;

-- Removes the receipts of a consumer that arrived on one day: the table of the day, if no other consumer has
-- rows there, else the rows. archived: how many rows the process has archived; a row that it has not seen is
-- never removed. Called by processes of the consumer, so it verifies its arguments.
create function onceward.remove_receipts(of_consumer integer, of_day date, cutoff timestamptz, archived bigint)
  returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '300ms' as $$
declare
  part text := to_char(of_day, '"receipt_"YYYYMMDD'); removed bigint; messages bigint; others boolean;
  low timestamptz := of_day::timestamp at time zone 'UTC';
  high timestamptz := (of_day + 1)::timestamp at time zone 'UTC';
begin
  perform onceward.assert_read_committed();
  if not exists (select from onceward.retention r
    where r.consumer_id = of_consumer and r.kind = 'receipts' and cutoff <= clock_timestamp() - r.keep
      and (r.action = 'delete' or archived is not null)) or high > cutoff or of_day <= date '1970-01-01' then
    raise exception 'Receipts of day % of consumer % may not be removed yet. Nothing was changed.',
      of_day, of_consumer; end if;
  if not pg_try_advisory_xact_lock(x'72657461'::integer, of_consumer) then
    return jsonb_build_object('did', 'nothing'); end if;
  if to_regclass('onceward.' || part) is not null and not exists (
    select from onceward.receipt r where r.at >= low and r.at < high and r.consumer_id <> of_consumer) then
    lock table only onceward.receipt in access exclusive mode;
    execute format('lock table onceward.%I in access exclusive mode', part);
    execute format('select count(*), coalesce(sum(count), 0), count(*) filter (where consumer_id <> $1) > 0 '
      'from onceward.%I', part) into removed, messages, others using of_consumer;
    if others or removed <> archived then return jsonb_build_object('did', 'waits'); end if;
    execute format('drop table onceward.%I', part);
  else
    with gone as (
      delete from onceward.receipt r where r.consumer_id = of_consumer and r.at >= low and r.at < high
        returning r.count)
    select count(*), coalesce(sum(count), 0) into removed, messages from gone;
    if removed <> archived then
      raise exception 'Receipts of day % were written meanwhile. Nothing was changed.', of_day
        using errcode = 'lock_not_available'; end if;
  end if;
  if removed > 0 then
    update onceward.retention set purged_count = purged_count + messages
      where consumer_id = of_consumer and kind = 'receipts';
    insert into onceward.purged as p (consumer_id, kind, count, before)
    values (of_consumer, 'receipts', messages, cutoff)
    on conflict (consumer_id, kind, day) do update set count = p.count + excluded.count,
      last_at = excluded.last_at, before = greatest(p.before, excluded.before);
  end if;
  return jsonb_build_object('did', 'removed', 'removed', messages);
end $$;

-- Processes add receipts and read them. Only remove_receipts removes them, and nothing changes them. The
-- rights of the first set, then those of later tables.
alter function onceward.create_roles() rename to create_first_roles;
create function onceward.create_roles() returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare part regclass;
begin
  perform onceward.create_first_roles();
  for part in select c.oid from pg_class c
    where c.relnamespace = 'onceward'::regnamespace and c.relname ~ '^receipt(_|$)' and c.relkind in ('r', 'p')
  loop
    execute format('revoke update, delete, truncate on %s from onceward_run', part);
  end loop;
end $$;
insert into onceward.function_right (function_name, callers) values ('create_first_roles', '{}');

revoke execute on function onceward.make_receipt_days, onceward.remove_receipts, onceward.create_roles,
  onceward.create_first_roles from public;
select onceward.make_receipt_days();
do $$ begin
  if exists (select from pg_roles where rolname = 'onceward_run')
    and has_schema_privilege('onceward_run', 'onceward', 'usage') then
    perform onceward.create_roles(); end if;
end $$;
`
