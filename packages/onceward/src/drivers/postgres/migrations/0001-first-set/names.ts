/** Which consumer name reads what, and how a consumer gets another name with its memory. */
export const names = `
-- Who reads what, and under which name it remembers. A name that is new where another one was reading has
-- none of its memory. Two queues of one name in two virtual hosts are two places; null where the virtual host
-- is not known.
create table onceward.reader (
  consumer_name text collate "C" not null,
  kind          text collate "C" not null,
  source        text collate "C" not null,
  -- Empty where a source has no groups.
  consumer_group text collate "C" not null,
  virtual_host  text collate "C",
  -- broker, store or queue.
  position_kept_by text not null,
  first_at      timestamptz not null default clock_timestamp(),
  last_at       timestamptz not null default clock_timestamp(),
  unique nulls not distinct (consumer_name, kind, source, consumer_group, virtual_host)
);
create index reader_of_source on onceward.reader (kind, source, consumer_group);

-- Returns the consumer that read this before under another name, when the caller never has; else notes the
-- caller. A reading whose virtual host is not known may be of this one: the same consumer takes it over,
-- another one is refused.
create function onceward.register_reader(consumer text, of_kind text, of_source text, of_group text,
  kept_by text, of_host text, out other text, out last_at timestamptz)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update onceward.reader r set position_kept_by = kept_by, last_at = clock_timestamp()
  where r.consumer_name = consumer and r.kind = of_kind and r.source = of_source and r.consumer_group = of_group
    and r.virtual_host = of_host;
  if found then return; end if;
  perform pg_advisory_xact_lock(hashtext('onceward.reader'), hashtext(of_source));
  update onceward.reader r set position_kept_by = kept_by, last_at = clock_timestamp(), virtual_host = of_host
  where r.consumer_name = consumer and r.kind = of_kind and r.source = of_source and r.consumer_group = of_group
    and r.virtual_host is null
    and not exists (
      select from onceward.reader s
      where s.consumer_name = consumer and s.kind = of_kind and s.source = of_source
        and s.consumer_group = of_group and s.virtual_host = of_host);
  if found then return; end if;
  select r.consumer_name, r.last_at into other, register_reader.last_at from onceward.reader r
  where r.kind = of_kind and r.source = of_source and r.consumer_group = of_group and r.consumer_name <> consumer
    and coalesce(r.virtual_host, of_host) = of_host
  order by r.last_at desc limit 1;
  if other is not null then return; end if;
  insert into onceward.reader (consumer_name, kind, source, consumer_group, position_kept_by, virtual_host)
  values (consumer, of_kind, of_source, of_group, kept_by, of_host) on conflict do nothing;
end $$;

-- The same answer, and writes nothing: a consumer that never reached its broker has read nothing.
create function onceward.check_reader(consumer text, of_kind text, of_source text, of_group text,
  of_host text, out other text, out last_at timestamptz)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  if exists (
    select from onceward.reader r
    where r.consumer_name = consumer and r.kind = of_kind and r.source = of_source
      and r.consumer_group = of_group and coalesce(r.virtual_host, of_host) = of_host) then return; end if;
  select r.consumer_name, r.last_at into other, check_reader.last_at from onceward.reader r
  where r.kind = of_kind and r.source = of_source and r.consumer_group = of_group and r.consumer_name <> consumer
    and coalesce(r.virtual_host, of_host) = of_host
  order by r.last_at desc limit 1;
end $$;

-- The same queue or group under two names on purpose: each remembers for itself, and a message that comes to
-- both is applied by both.
create function onceward.separate_reader(consumer text, other text, reason text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare added integer;
begin
  if onceward.is_blank(reason) then
    return onceward.refuse('consumers separate', consumer, other, 'Say why.'); end if;
  insert into onceward.reader (consumer_name, kind, source, consumer_group, position_kept_by, virtual_host)
  select consumer, r.kind, r.source, r.consumer_group, r.position_kept_by, r.virtual_host from onceward.reader r
    where r.consumer_name = other
  on conflict do nothing;
  get diagnostics added = row_count;
  if added = 0 then
    return onceward.refuse('consumers separate', consumer, other,
      format('Nothing is known to be read by "%s" alone.', other)); end if;
  perform onceward.audit_entry('consumers separate', 'done', consumer, other, reason);
  return jsonb_build_object('ok', true);
end $$;

-- The name that a consumer has now, and keeps until the caller's transaction ends: a process that was frozen
-- while its consumer was renamed would ask for effects under a name whose ledger is empty.
create function onceward.current_name(consumer integer, given text) returns text language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_advisory_xact_lock_shared(hashtext('onceward.named'), consumer);
  return coalesce((select c.name from onceward.consumer c where c.id = consumer), given);
end $$;

-- Markers, parked messages and positions belong to the consumer's number and follow its name. Every column
-- called consumer_name, found in the catalogue, is written anew in one transaction. The readings are locked
-- before the runs are looked at: a process that starts writes its run first and its reading after it, so it
-- is seen here, or waits and is refused under the old name. A sign of life from the future counts for
-- nothing, and no lease is longer than a day.
create function onceward.rename_consumer(old_name text, new_name text, reason text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare held_in record; in_use boolean; moved bigint; counts jsonb := '{}'; ids integer[];
begin
  perform onceward.assert_read_committed();
  if onceward.is_blank(reason) then
    return onceward.refuse('consumers rename', old_name, new_name, 'Say why.'); end if;
  if coalesce(new_name !~ '^[a-z][a-z0-9_]{0,47}$', true) then
    return onceward.refuse('consumers rename', old_name, left(new_name, 100),
      'The new name is no name of a consumer.'); end if;
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
      'The new name has campaigns of its own. Cancel them, or choose another name.'); end if;
  -- A consumer that only a campaign has entered has never run, and remembers nothing.
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
      'The new name has a memory of its own already.'); end if;
  if exists (select from onceward.run r where r.consumer_id = any (ids) and r.ended_at is null
    and r.heartbeat_at between clock_timestamp() - interval '30 seconds'
      and clock_timestamp() + interval '30 seconds') then
    return onceward.refuse('consumers rename', old_name, new_name,
      'It is running. Stop all its processes first.'); end if;
  if exists (select from onceward.campaign p
    where p.consumer_name = old_name and p.state not in ('finished', 'cancelled')) then
    return onceward.refuse('consumers rename', old_name, new_name,
      'It has campaigns under way. Finish or cancel them first.'); end if;
  if exists (select from onceward.held h where h.consumer_id = any (ids) and h.lease_until > clock_timestamp()
      and h.lease_until <= clock_timestamp() + interval '1 day')
    or exists (select from onceward.ledger l
      where l.consumer_name = old_name and l.state in ('in flight', 'reconciling')
      and l.due_at > clock_timestamp() and l.due_at <= clock_timestamp() + interval '1 day') then
    return onceward.refuse('consumers rename', old_name, new_name,
      'A worker or dispatcher has some of its work. Stop it; what it held is free once its lease has ended.');
  end if;
  -- Transactions that write under the old name (current_name) are waited for.
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
