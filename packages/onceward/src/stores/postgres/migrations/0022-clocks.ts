/** A clock of the database that was ahead for a while leaves times behind that lie in the future, or in the wrong order. None of them counts. */
export const clocks = `
-- The newest accepted life is the one with the highest number: only one waits at a time. Servers before and after a failover have clocks of their own.
create or replace function onceward.server_check(
  out in_recovery boolean, out read_only boolean, out system_identifier text, out timeline integer, out database_oid oid, out flushed numeric,
  out open bigint, out known boolean)
language sql set search_path = pg_catalog, pg_temp as $$
  select n.*, (select l.id from onceward.server_life l where l.accepted_at is null),
    (select onceward.same_life(l, n.system_identifier, n.timeline, n.database_oid)
     from onceward.server_life l where l.accepted_at is not null order by l.id desc limit 1)
  from onceward.server_now() n
$$;

-- Up to when this copy is known to have everything. The clock of the server before may have been a little ahead of ours: such a sign counts as of
-- now. One from further ahead says nothing. Null where no other is left: too late a time would make people replay too little.
create function onceward.last_heard() returns timestamptz
language sql volatile set search_path = pg_catalog, pg_temp as $$
  with clock as materialized (select clock_timestamp() as now)
  select least(max(sign.at), (select now from clock))
  from onceward.run r cross join lateral (values (r.heard_at), (r.started_at)) as sign (at)
  where sign.at <= (select now from clock) + interval '1 minute'
$$;
revoke execute on function onceward.last_heard from public;

create or replace function onceward.notice_server(reason text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare now_is record; noticed bigint;
begin
  if onceward.says_nothing(reason) then
    raise exception 'Say why the server counts as another one. Nothing was changed.' using errcode = 'invalid_parameter_value'; end if;
  select * into now_is from onceward.server_now();
  insert into onceward.server_life (system_identifier, timeline, database_oid, why, noticed_by, survived_to)
  values (now_is.system_identifier, now_is.timeline, now_is.database_oid, left(reason, 500), onceward.actor(), onceward.last_heard())
  on conflict ((true)) where accepted_at is null do nothing returning id into noticed;
  if found then
    perform onceward.audit_entry('restore notice', 'done', null, noticed::text, left(reason, 500),
      jsonb_build_object('timeline', now_is.timeline, 'system', now_is.system_identifier));
    return noticed;
  end if;
  select l.id into noticed from onceward.server_life l where l.accepted_at is null;
  return noticed;
end $$;

-- A sign of life from ahead is none; no lease is longer than a day. Otherwise as before.
create or replace function onceward.rename_consumer(old_name text, new_name text, because text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare held_in record; in_use boolean; moved bigint; counts jsonb := '{}'; ids integer[];
begin
  perform onceward.assert_present();
  if onceward.says_nothing(because) then return onceward.refuse('consumers rename', old_name, new_name, 'Say why.'); end if;
  if coalesce(new_name !~ '^[a-z][a-z0-9_]{0,47}$', true) then
    return onceward.refuse('consumers rename', old_name, left(new_name, 100), 'The new name is no name of a consumer.'); end if;
  perform pg_advisory_xact_lock(hashtext('onceward.name'), n) from (
    select distinct hashtext(name) as n from unnest(array[old_name, new_name]) as name order by 1) as both_names;
  perform from onceward.consumer c where c.name in (old_name, new_name) order by c.id for update;
  perform from onceward.reading r where r.consumer_name in (old_name, new_name) order by r.consumer_name, r.kind, r.place, r.reader for update;
  ids := array(select c.id from onceward.consumer c where c.name = old_name);
  if cardinality(ids) = 0 then return onceward.refuse('consumers rename', old_name, new_name, 'There is no such consumer.'); end if;
  if exists (select from onceward.campaign p where p.consumer_name = new_name
    and (p.mode = 'rebuild' or p.state not in ('finished', 'cancelled'))) then
    return onceward.refuse('consumers rename', old_name, new_name, 'The new name has campaigns of its own. Cancel them, or choose another name.'); end if;
  -- A name that a campaign only wrote down has never run and remembers nothing.
  in_use := exists (select from onceward.consumer c join onceward.run r on r.consumer_id = c.id where c.name = new_name);
  for held_in in
    select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'consumer_name' and not a.attisdropped
    where c.relnamespace = 'onceward'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition and c.relname <> 'campaign'
  loop
    exit when in_use;
    execute format('select exists (select from onceward.%I where consumer_name = $1)', held_in.relname) into in_use using new_name;
  end loop;
  if in_use then
    return onceward.refuse('consumers rename', old_name, new_name, 'The new name has a memory of its own already.'); end if;
  if exists (select from onceward.run r where r.consumer_id = any (ids) and r.ended_at is null
    and r.heard_at between clock_timestamp() - interval '30 seconds' and clock_timestamp() + interval '30 seconds') then
    return onceward.refuse('consumers rename', old_name, new_name, 'It is running. Stop all its processes first.'); end if;
  if exists (select from onceward.campaign p where p.consumer_name = old_name and p.state not in ('finished', 'cancelled')) then
    return onceward.refuse('consumers rename', old_name, new_name, 'It has campaigns under way. Finish or cancel them first.'); end if;
  if exists (select from onceward.held h where h.consumer_id = any (ids) and h.lease_until > clock_timestamp()
      and h.lease_until <= clock_timestamp() + interval '1 day')
    or exists (select from onceward.ledger l where l.consumer_name = old_name and l.state in ('in flight', 'reconciling')
      and l.due_at > clock_timestamp() and l.due_at <= clock_timestamp() + interval '1 day') then
    return onceward.refuse('consumers rename', old_name, new_name,
      'A worker or dispatcher has some of its work. Stop it; what it held is free once its lease has ended.'); end if;
  -- Who has just written under the old name is waited for.
  perform pg_advisory_xact_lock(hashtext('onceward.named'), id) from unnest(ids) as id;
  delete from onceward.consumer c where c.name = new_name;
  update onceward.consumer set name = new_name where name = old_name;
  update onceward.ledger l set asked_as = old_name where l.consumer_name = old_name and l.state <> 'completed' and l.asked_as is null;
  for held_in in
    select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'consumer_name' and not a.attisdropped
    where c.relnamespace = 'onceward'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
  loop
    execute format('update onceward.%I set consumer_name = $2 where consumer_name = $1', held_in.relname) using old_name, new_name;
    get diagnostics moved = row_count;
    counts := counts || jsonb_build_object(held_in.relname, moved);
  end loop;
  perform onceward.audit_entry('consumers rename', 'done', new_name, old_name, because,
    jsonb_build_object('rows', counts, 'ledgerRows', (counts ->> 'ledger')::bigint));
  return jsonb_build_object('ok', true, 'ledgerRows', (counts ->> 'ledger')::bigint);
end $$;
`
