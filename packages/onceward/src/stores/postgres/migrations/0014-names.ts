/**
 * What a campaign risks is the database's word alone, judged again whenever it may begin to run; and a consumer's name moves everywhere at once,
 * by the catalogue: a column called consumer_name holds one.
 */
export const names = `
-- The gravest first. A risk that is not listed is unknown, and the unknown is graver than all.
create function onceward.risk_rank(risk text) returns integer language sql immutable
return coalesce(array_position(array['regulatory', 'money', 'notification', 'projection', 'telemetry', 'low value'], risk), 0);

create function onceward.is_grave(risk text) returns boolean language sql immutable
return onceward.risk_rank(risk) < 3;

-- Of all generations the gravest: a campaign of one may write what another reads.
create function onceward.risk_of(consumer text) returns text language sql stable
return coalesce((select c.risk from onceward.consumer c where c.name = consumer order by onceward.risk_rank(c.risk) limit 1), 'unknown');

create or replace function onceward.campaign_guard() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $guard$
declare judged text; renamed boolean := false;
begin
  if tg_op = 'INSERT' then
    -- Who renames the consumer at this moment is waited for.
    perform pg_advisory_xact_lock_shared(hashtext('onceward.name'), hashtext(new.consumer_name));
    new.requested_by := onceward.actor();
    new.by_person := onceward.is_person();
    new.requested_at := clock_timestamp();
    new.risk := onceward.risk_of(new.consumer_name);
    new.needs_approval := new.mode <> 'forensic' and (onceward.is_grave(new.risk) or new.effects = 'requested');
    new.planned_by := case when new.plan is not null then onceward.actor() end;
    if onceward.says_nothing(new.reason) then raise exception 'say why' using errcode = 'check_violation'; end if;
    if new.state <> 'created' then
      raise exception 'a campaign begins as created, not as %', new.state using errcode = 'check_violation';
    end if;
  else
    renamed := new.consumer_name <> old.consumer_name and old.state in ('finished', 'cancelled') and new.state = old.state
      and current_user = (select pg_get_userbyid(t.relowner) from pg_class t where t.oid = tg_relid);
    if (new.generation, new.live_generation, new.risk, new.mode, new.effects, new.selection, new.needs_approval,
        new.requested_by, new.by_person, new.requested_at)
      is distinct from (old.generation, old.live_generation, old.risk, old.mode, old.effects, old.selection,
        old.needs_approval, old.requested_by, old.by_person, old.requested_at)
      or new.consumer_name <> old.consumer_name and not renamed then
      raise exception 'what campaign % is, and who asked for it, does not change: cancel it and create another', old.id
        using errcode = 'check_violation';
    end if;
    if new.plan is distinct from old.plan and old.state not in ('created', 'previewed')
      and not (old.mode = 'rebuild' and old.state in ('ran', 'verified', 'running')
        and new.plan - 'catchUp' is not distinct from old.plan - 'catchUp') then
      raise exception 'campaign % is %: its plan is fixed', old.id, old.state using errcode = 'check_violation';
    end if;
    new.planned_by := case when new.plan - 'catchUp' is distinct from old.plan - 'catchUp' then onceward.actor() else old.planned_by end;
    if new.plan ? 'catchUp' and (new.mode <> 'rebuild' or old.state in ('created', 'previewed')) then
      raise exception 'campaign % follows no log: only a rebuild that has run does', old.id using errcode = 'check_violation';
    end if;
    if new.state is distinct from old.state and not exists (
      select from onceward.campaign_step s where s.from_state = old.state and s.to_state = new.state) then
      raise exception 'campaign % is % and cannot become %', old.id, old.state, new.state using errcode = 'check_violation';
    end if;
    -- A risk that was lowered since frees nobody of an approval; one that was raised asks for it.
    if new.state not in ('finished', 'cancelled') then
      judged := onceward.risk_of(new.consumer_name);
      if onceward.risk_rank(judged) < onceward.risk_rank(old.risk) then new.risk := judged; end if;
      new.needs_approval := old.needs_approval or new.mode <> 'forensic' and onceward.is_grave(judged);
    end if;
  end if;
  -- What was approved was approved under the name of then.
  if not renamed then
    new.plan_digest := case when new.plan is not null then sha256(convert_to(jsonb_build_object(
      'consumer', new.consumer_name, 'generation', new.generation, 'mode', new.mode, 'effects', new.effects,
      'selection', new.selection, 'plan', new.plan - 'catchUp')::text, 'UTF8')) end;
  end if;
  -- Whoever takes it over from a process that died raises the epoch, and needs an approval as much as who begins.
  if tg_op = 'UPDATE' and new.state = 'running' and (old.state <> 'running' or new.epoch <> old.epoch) and new.needs_approval and not exists (
    select from onceward.campaign_approval a
    where a.campaign_id = new.id and a.plan_digest = new.plan_digest and a.expires_at > clock_timestamp()
      and not onceward.same_person(a.approved_by, new.requested_by)) then
    raise exception 'campaign % needs the approval of somebody other than %, for exactly this plan, that has not expired', new.id, new.requested_by
      using errcode = 'insufficient_privilege';
  end if;
  return new;
end $guard$;

-- A contract that stops being about money frees its campaigns of approval from then on, so it stands in the audit.
create function onceward.audit_risk() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform onceward.audit_entry('contract risk lowered', 'done', new.name, new.generation::text, '',
    jsonb_build_object('from', old.risk, 'to', new.risk));
  return null;
end $$;
create trigger risk_lowered after update of risk on onceward.consumer for each row
  when (onceward.is_grave(old.risk) and not onceward.is_grave(new.risk)) execute function onceward.audit_risk();

-- A number whose consumer was removed, renamed or numbered anew beside the acts would have another risk, and no entry would say so.
create function onceward.owner_only() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if current_user <> (select pg_get_userbyid(t.relowner) from pg_class t where t.oid = tg_relid) then
    raise exception 'a row of onceward.% is neither removed nor given another identity', tg_table_name using errcode = 'insufficient_privilege'; end if;
  return coalesce(new, old);
end $$;
create trigger stays before delete on onceward.consumer for each row execute function onceward.owner_only();
create trigger keeps_name before update of id, name, generation on onceward.consumer for each row
  when ((old.id, old.name, old.generation) is distinct from (new.id, new.name, new.generation)) execute function onceward.owner_only();
create trigger stays before delete on onceward.campaign for each row execute function onceward.owner_only();
create trigger keeps_number before update of id on onceward.campaign for each row
  when (old.id is distinct from new.id) execute function onceward.owner_only();
-- The first name it was asked for under, where that is another by now. What a target was told is made of it, and must stay the same.
alter table onceward.ledger add column asked_as text;

-- The name that a consumer has now, and keeps until the caller's transaction ends: a process that was frozen while it was renamed would ask for
-- effects under a name whose ledger is empty.
create function onceward.name_now(consumer integer, given text) returns text language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_advisory_xact_lock_shared(hashtext('onceward.named'), consumer);
  return coalesce((select c.name from onceward.consumer c where c.id = consumer), given);
end $$;

-- Markers, parked messages and positions belong to a number and follow the name. Every column called consumer_name is written anew, in one
-- transaction. Rows of the reading are locked before the runs are looked at: who starts writes its run first and its reading again after it,
-- so it is seen here, or waits for us and is refused under the old name.
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
    and r.heard_at > clock_timestamp() - interval '30 seconds') then
    return onceward.refuse('consumers rename', old_name, new_name, 'It is running. Stop all its processes first.'); end if;
  if exists (select from onceward.campaign p where p.consumer_name = old_name and p.state not in ('finished', 'cancelled')) then
    return onceward.refuse('consumers rename', old_name, new_name, 'It has campaigns under way. Finish or cancel them first.'); end if;
  if exists (select from onceward.held h where h.consumer_id = any (ids) and h.lease_until > clock_timestamp())
    or exists (select from onceward.ledger l where l.consumer_name = old_name and l.state in ('in flight', 'reconciling')
      and l.due_at > clock_timestamp() and l.due_at < 'infinity') then
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
