/** Which consumer name reads which source, and how a consumer is renamed with its markers. */
export const names = `
-- Which consumer reads which source. A new name on a source that another name was reading has none of its
-- markers. Two queues of one name in two virtual hosts are two sources; virtual_host is null if it is not
-- known.
create table onceward.reader (
  consumer_name    text collate "C" not null,
  kind             text collate "C" not null,
  source           text collate "C" not null,
  -- Empty if the source has no groups.
  consumer_group   text collate "C" not null,
  virtual_host     text collate "C",
  -- Keeper of the position: broker, store or queue.
  position_kept_by text not null,
  first_at         timestamptz not null default clock_timestamp(),
  last_at          timestamptz not null default clock_timestamp(),
  unique nulls not distinct (consumer_name, kind, source, consumer_group, virtual_host)
);
create index reader_of_source on onceward.reader (kind, source, consumer_group);

-- Returns the consumer that read this source before under another name, if the caller never has; otherwise
-- records the caller. A reader whose virtual host is not known may be of this one: the same consumer takes it
-- over, another consumer is refused.
create function onceward.register_reader(consumer text, of_kind text, of_source text, of_group text,
  kept_by text, of_host text, out other text, out last_at timestamptz)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update onceward.reader r set position_kept_by = kept_by, last_at = clock_timestamp()
  where r.consumer_name = consumer and r.kind = of_kind and r.source = of_source
    and r.consumer_group = of_group
    and r.virtual_host = of_host;
  if found then return; end if;
  perform pg_advisory_xact_lock(hashtext('onceward.reader'), hashtext(of_source));
  update onceward.reader r set position_kept_by = kept_by, last_at = clock_timestamp(), virtual_host = of_host
  where r.consumer_name = consumer and r.kind = of_kind and r.source = of_source
    and r.consumer_group = of_group
    and r.virtual_host is null
    and not exists (
      select from onceward.reader s
      where s.consumer_name = consumer and s.kind = of_kind and s.source = of_source
        and s.consumer_group = of_group and s.virtual_host = of_host);
  if found then return; end if;
  select r.consumer_name, r.last_at into other, register_reader.last_at from onceward.reader r
  where r.kind = of_kind and r.source = of_source and r.consumer_group = of_group
    and r.consumer_name <> consumer
    and coalesce(r.virtual_host, of_host) = of_host
  order by r.last_at desc limit 1;
  if other is not null then return; end if;
  insert into onceward.reader (consumer_name, kind, source, consumer_group, position_kept_by, virtual_host)
  values (consumer, of_kind, of_source, of_group, kept_by, of_host) on conflict do nothing;
end $$;

-- The same answer without a write: a consumer that never reached its broker has read nothing.
create function onceward.check_reader(consumer text, of_kind text, of_source text, of_group text,
  of_host text, out other text, out last_at timestamptz)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  if exists (
    select from onceward.reader r
    where r.consumer_name = consumer and r.kind = of_kind and r.source = of_source
      and r.consumer_group = of_group and coalesce(r.virtual_host, of_host) = of_host) then return; end if;
  select r.consumer_name, r.last_at into other, check_reader.last_at from onceward.reader r
  where r.kind = of_kind and r.source = of_source and r.consumer_group = of_group
    and r.consumer_name <> consumer
    and coalesce(r.virtual_host, of_host) = of_host
  order by r.last_at desc limit 1;
end $$;

-- Two consumer names on the same queue or group on purpose: each has its own markers, and a message that
-- reaches both is applied by both.
create function onceward.separate_reader(consumer text, other text, reason text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare added integer;
begin
  if onceward.is_blank(reason) then
    return onceward.refuse('consumers separate', consumer, other, 'Say why.'); end if;
  insert into onceward.reader (consumer_name, kind, source, consumer_group, position_kept_by, virtual_host)
  select consumer, r.kind, r.source, r.consumer_group, r.position_kept_by, r.virtual_host
    from onceward.reader r
    where r.consumer_name = other
  on conflict do nothing;
  get diagnostics added = row_count;
  if added = 0 then
    return onceward.refuse('consumers separate', consumer, other,
      format('No source is known that only "%s" reads.', other)); end if;
  perform onceward.audit_entry('consumers separate', 'done', consumer, other, reason);
  return jsonb_build_object('ok', true);
end $$;

-- The current name of a consumer, locked until the transaction of the caller ends. Otherwise a process that
-- was frozen during a rename would request effects under a name whose ledger is empty.
create function onceward.current_name(consumer integer, given text) returns text language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_advisory_xact_lock_shared(hashtext('onceward.named'), consumer);
  return coalesce((select c.name from onceward.consumer c where c.id = consumer), given);
end $$;

-- Markers, parked messages and positions refer to the id of the consumer, so a rename does not touch them.
-- Every column called consumer_name, found in the catalogue, is updated in one transaction. The readers are
-- locked before the runs are checked: a starting process inserts its run first and its reader after it, so it
-- is seen here, or waits and is refused under the old name. A heartbeat from the future is ignored, and no
-- lease is longer than a day.
create function onceward.rename_consumer(old_name text, new_name text, reason text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare held_in record; in_use boolean; moved bigint; counts jsonb := '{}'; ids integer[];
begin
  perform onceward.assert_read_committed();
  if onceward.is_blank(reason) then
    return onceward.refuse('consumers rename', old_name, new_name, 'Say why.'); end if;
  if coalesce(new_name !~ '^[a-z][a-z0-9_]{0,47}$', true) then
    return onceward.refuse('consumers rename', old_name, left(new_name, 100),
      'The new name is not a valid consumer name.'); end if;
  perform pg_advisory_xact_lock(hashtext('onceward.name'), n) from (
    select distinct hashtext(name) as n from unnest(array[old_name, new_name]) as name
      order by 1) as both_names;
  perform from onceward.consumer c where c.name in (old_name, new_name) order by c.id for update;
  perform from onceward.reader r where r.consumer_name in (old_name, new_name)
    order by r.consumer_name, r.kind, r.source, r.consumer_group for update;
  ids := array(select c.id from onceward.consumer c where c.name = old_name);
  if cardinality(ids) = 0 then
    return onceward.refuse('consumers rename', old_name, new_name, 'There is no such consumer.'); end if;
  if exists (select from onceward.campaign p where p.consumer_name = new_name
    and (p.mode = 'rebuild' or p.state not in ('finished', 'cancelled'))) then
    return onceward.refuse('consumers rename', old_name, new_name,
      'The new name already has campaigns. Cancel them, or choose another name.'); end if;
  -- A consumer that only a campaign has registered has never run, and has no markers.
  in_use := exists (select from onceward.consumer c join onceward.run r on r.consumer_id = c.id
    where c.name = new_name);
  for held_in in
    select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'consumer_name'
      and not a.attisdropped
    where c.relnamespace = 'onceward'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
      and c.relname <> 'campaign'
  loop
    exit when in_use;
    execute format('select exists (select from onceward.%I where consumer_name = $1)', held_in.relname) into
      in_use using new_name;
  end loop;
  if in_use then
    return onceward.refuse('consumers rename', old_name, new_name,
      'The new name is already in use: it has runs or rows.'); end if;
  if exists (select from onceward.run r where r.consumer_id = any (ids) and r.ended_at is null
    and r.heartbeat_at between clock_timestamp() - interval '30 seconds'
      and clock_timestamp() + interval '30 seconds') then
    return onceward.refuse('consumers rename', old_name, new_name,
      'It is running. Stop all its processes first.'); end if;
  if exists (select from onceward.campaign p
    where p.consumer_name = old_name and p.state not in ('finished', 'cancelled')) then
    return onceward.refuse('consumers rename', old_name, new_name,
      'It has open campaigns. Finish or cancel them first.'); end if;
  if exists (select from onceward.held h where h.consumer_id = any (ids) and h.lease_until > clock_timestamp()
      and h.lease_until <= clock_timestamp() + interval '1 day')
    or exists (select from onceward.ledger l
      where l.consumer_name = old_name and l.state in ('in flight', 'reconciling')
      and l.due_at > clock_timestamp() and l.due_at <= clock_timestamp() + interval '1 day') then
    return onceward.refuse('consumers rename', old_name, new_name,
      'A worker or dispatcher holds a lease on its work. Stop it, and wait until the lease has expired.');
  end if;
  -- Waits for transactions that write under the old name (current_name).
  perform pg_advisory_xact_lock(hashtext('onceward.named'), id) from unnest(ids) as id;
  delete from onceward.consumer c where c.name = new_name;
  update onceward.consumer set name = new_name where name = old_name;
  update onceward.ledger l set original_consumer_name = old_name
    where l.consumer_name = old_name and l.state <> 'completed' and l.original_consumer_name is null;
  for held_in in
    select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'consumer_name'
      and not a.attisdropped
    where c.relnamespace = 'onceward'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  loop
    execute format('update onceward.%I set consumer_name = $2 where consumer_name = $1', held_in.relname)
      using old_name, new_name;
    get diagnostics moved = row_count;
    counts := counts || jsonb_build_object(held_in.relname, moved);
  end loop;
  perform onceward.audit_entry('consumers rename', 'done', new_name, old_name, reason,
    jsonb_build_object('rows', counts, 'ledgerRows', (counts ->> 'ledger')::bigint));
  return jsonb_build_object('ok', true, 'ledgerRows', (counts ->> 'ledger')::bigint);
end $$;
`
