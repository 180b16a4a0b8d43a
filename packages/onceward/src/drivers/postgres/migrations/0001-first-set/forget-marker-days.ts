/** Removes a whole day of markers in one step: the day is sealed, read without a lock, and dropped. */
export const forgetMarkerDays = `
-- Called by processes of the consumer, so it verifies its arguments: to_char gives a day before Christ the
-- name of a current day.
create function onceward.assert_day_expired(of_consumer integer, day date, cutoff timestamptz)
  returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if not exists (select from onceward.retention r
    where r.consumer_id = of_consumer and r.kind = 'markers' and r.action = 'delete'
      and cutoff <= clock_timestamp() - r.keep and (day + 1)::timestamp at time zone 'UTC' <= cutoff
      and day > date '1970-01-01')
    or exists (select from onceward.held h
      where h.consumer_id = of_consumer and h.state in ('stored', 'waiting', 'parked')
        and h.first_at < cutoff) then
    raise exception 'Day % of consumer % may not be dropped yet. Nothing was changed.',
      day, of_consumer; end if;
end $$;

-- One row for each marker that is written to a sealed day. A process that has read the day uses it to detect
-- later writes.
create table onceward.late_marker (partition_oid oid not null);
create index late_marker_by_partition on onceward.late_marker (partition_oid);

create function onceward.record_late_marker() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  insert into onceward.late_marker values (tg_relid);
  return null;
end $$;

-- From its commit on every write to the day is recorded; a process that is writing is waited for, briefly.
-- Only that day is locked.
create function onceward.seal_day(of_consumer integer, day date, cutoff timestamptz) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '300ms' as $$
declare part text := 'inbox_' || of_consumer || to_char(day, '_YYYYMMDD');
begin
  perform onceward.assert_day_expired(of_consumer, day, cutoff);
  if not pg_try_advisory_xact_lock(x'72657461'::integer, of_consumer)
    or to_regclass('onceward.' || part) is null
    or exists (
      select from pg_trigger where tgrelid = to_regclass('onceward.' || part) and tgname = 'sealed') then
    return; end if;
  execute format('create trigger sealed after insert or update or delete on onceward.%I '
    'for each row execute function onceward.record_late_marker()', part);
end $$;

-- Drops a sealed day in one step; a day in which only a few markers must stay has to be sealed first, and the
-- answer says so. The day is read without a lock. Under the lock, for which every insert of this consumer
-- waits, it is only checked whether anything was written since: 2 million markers are counted in a second,
-- and dropped in milliseconds. Locks go from the parent to its partitions, as an insert takes them, and are
-- waited for briefly: an insert that holds the parent may wait for the day, and the drop does not hold the
-- day while it waits for the parent. Markers that must stay are moved to the rest, to which their ids are
-- routed from then on. Under a snapshot from before the lock, later writes would be invisible.
create function onceward.drop_day(of_consumer integer, day date, cutoff timestamptz) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '300ms' as $$
declare
  whole text := 'inbox_' || of_consumer; leaf oid;
  part text := 'inbox_' || of_consumer || to_char(day, '_YYYYMMDD');
  sealed boolean; late bigint; total bigint; staying bigint; kept text[]; few constant integer := 1000;
  stays constant text := $cond$ not (t.at < $1 and (t.status in ('applied', 'ignored', 'duplicate', 'stale')
    or (t.status in ('dead', 'quarantined') and not exists (
      select from onceward.held h where h.consumer_id = t.consumer_id and h.message_id = t.message_id
        and h.state in ('parked', 'dead', 'quarantined') offset 0)))) $cond$;
begin
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception 'Dropping a day requires isolation level read committed, not %. Nothing was changed.',
      current_setting('transaction_isolation'); end if;
  perform onceward.assert_day_expired(of_consumer, day, cutoff);
  if not pg_try_advisory_xact_lock(x'72657461'::integer, of_consumer) then
    return jsonb_build_object('did', 'nothing'); end if;
  leaf := to_regclass('onceward.' || part);
  if leaf is null then return jsonb_build_object('did', 'dropped', 'removed', 0, 'kept', 0); end if;
  sealed := exists (select from pg_trigger where tgrelid = leaf and tgname = 'sealed');
  if not sealed or (select count(*) from onceward.late_marker l where l.partition_oid = leaf) > few then
    execute format('select count(*) from (select from onceward.%I t where %s limit $2) r', part, stays)
      into staying using cutoff, few + 1;
    if staying > few then return jsonb_build_object('did', 'stays'); end if;
  end if;
  if not sealed then return jsonb_build_object('did', 'seal'); end if;
  execute format('select (select count(*) from onceward.late_marker where partition_oid = $2), count(*), '
    'array_agg(t.message_id) filter (where %s) from onceward.%I t', stays, part)
    into late, total, kept using cutoff, leaf;
  if cardinality(kept) > few or kept is not null and onceward.has_open_rebuild(of_consumer) then
    return jsonb_build_object('did', 'stays'); end if;
  execute format('lock table only onceward.%I in access exclusive mode', whole);
  execute format('lock table onceward.%I, onceward.%I in access exclusive mode', whole || '_rest', part);
  if late <> (select count(*) from onceward.late_marker l where l.partition_oid = leaf) then
    return jsonb_build_object('did', 'waits'); end if;
  execute format('alter table onceward.%I detach partition onceward.%I', whole, part);
  execute format('insert into onceward.%I select * from onceward.%I '
    'where consumer_id = $1 and message_id = any ($2)', whole, part) using of_consumer, kept;
  execute format('drop table onceward.%I', part);
  delete from onceward.late_marker l where l.partition_oid = leaf;
  staying := coalesce(cardinality(kept), 0);
  if total > staying then perform onceward.count_purged(of_consumer, total - staying, cutoff); end if;
  return jsonb_build_object('did', 'dropped', 'removed', total - staying, 'kept', staying);
end $$;
`
