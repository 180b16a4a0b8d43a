/**
 * A fixed payload changes what will be paid. Where the risk is grave a second person looks at exactly these bytes before anybody may let the
 * row go; the request is made by the fix itself.
 */
export const fixes = `
alter table onceward.approval drop constraint approval_verb_check;
alter table onceward.approval add constraint approval_verb_check check (verb in ('delete', 'fix'));
-- The fix that is asked for. A later one, of the same bytes even, is another.
alter table onceward.approval add column lineage_id bigint;
alter table onceward.approval add constraint fix_has_its_lineage check ((verb = 'fix') = (lineage_id is not null)) not valid;
create index approval_of_fix on onceward.approval (lineage_id) where lineage_id is not null;

-- Why a row may not go although its payload is fixed; null when it may, or was not fixed. A request that was made stands whatever became of
-- the risk; a risk that became grave asks for one.
create function onceward.fix_waits(number bigint) returns text language sql stable
return (
  select case when asked.id is null or asked.approved_at is null and asked.expires_at < clock_timestamp()
    then 'its fix waits for approval, and no request for it stands: fix it again'
    else 'its fix waits for the approval of somebody other than ' || f.actor || ' (request ' || asked.id || ')' end
  from onceward.held h
  join onceward.consumer c on c.id = h.consumer_id
  join lateral (
    select l.id, l.actor from onceward.lineage l where l.held_id = h.id and l.kind = 'payload' order by l.id desc limit 1) f on true
  left join lateral (
    select a.* from onceward.approval a where a.lineage_id = f.id order by a.id desc limit 1) asked on true
  where h.id = number and (asked.id is not null or onceward.is_grave(onceward.risk_of(c.name)))
    and not coalesce(asked.approved_at is not null and asked.digest = sha256(h.body)
      and not onceward.same_person(asked.approved_by, f.actor), false));

-- The payload as whoever reads or archives it without a judgement may have it: while a fix waits, the message as it came. A campaign on an
-- archive, or a rebuild of what is held, is approved for files and ranges, and not for these bytes.
create function onceward.body_of(number bigint, body bytea) returns bytea language sql stable
return (
  case when onceward.fix_waits(number) is null then body else (
    select coalesce(l.body_before, ''::bytea) from onceward.lineage l where l.held_id = number and l.kind = 'payload' order by l.id limit 1) end);

-- Behind every judgement: whatever lets a row go, it does not go unapproved.
create function onceward.fix_guard() returns trigger language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare why text := onceward.fix_waits(old.id);
begin
  if why is not null then
    raise exception 'Number % stays: %.', old.id, why using errcode = 'insufficient_privilege'; end if;
  return new;
end $$;
create trigger fix_guard before update of state on onceward.held for each row
  when (old.state in ('parked', 'dead', 'quarantined') and new.state not in ('parked', 'dead', 'quarantined'))
  execute function onceward.fix_guard();

create or replace function onceward.fix_parked(consumer text, number bigint, kind text, seen bytea, body bytea, digest_after bytea, new_id text, because text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare h onceward.held; of integer := onceward.selected_consumer(array[number], consumer); marker record; subject text := number::text;
  fix bigint; asked onceward.approval; grave boolean := kind = 'payload' and onceward.is_grave(onceward.risk_of(consumer));
begin
  if onceward.says_nothing(because) then return onceward.refuse('parked fix', consumer, subject, 'Say why.'); end if;
  if of is null then return onceward.refuse('parked fix', consumer, subject, 'There is no such row of this consumer.'); end if;
  if grave and not onceward.is_person() then
    return onceward.refuse('parked fix', consumer, subject,
      'Role ' || session_user || ' is nobody in person: it is not listed in onceward.person, and this payload needs two people.'); end if;
  select * into h from onceward.held where id = number for update;
  if h.state not in ('parked', 'dead', 'quarantined') then
    return onceward.refuse('parked fix', consumer, subject, 'It is at work.'); end if;
  if sha256(h.body) is distinct from seen then
    return onceward.refuse('parked fix', consumer, subject, 'Somebody has changed it since it was read.'); end if;
  if h.message_id is null then
    if new_id is null then return onceward.refuse('parked fix', consumer, subject, 'It has no message id: give one that reads well.'); end if;
    select status, message_id into marker from onceward.inbox i where i.consumer_id = of and i.message_id = new_id;
    if found then
      return onceward.refuse('parked fix', consumer, subject, 'Message ' || new_id || ' is ' || marker.status || ' here already: skip this row.'); end if;
    insert into onceward.inbox (consumer_id, run_id, status, message_id, digest, position)
      values (of, h.run_id, h.state::text::onceward.marker_status, new_id, h.digest, h.position);
    update onceward.held set message_id = new_id where id = number;
  elsif new_id is not null and new_id <> h.message_id then
    return onceward.refuse('parked fix', consumer, subject, 'A fix keeps the message id, which is ' || h.message_id || '.');
  end if;
  insert into onceward.lineage (held_id, consumer_id, message_id, kind, reason, digest_before, digest_after, body_before)
    values (number, of, coalesce(h.message_id, new_id), kind, because,
      coalesce((select l.digest_after from onceward.lineage l where l.held_id = number order by l.id desc limit 1), h.digest),
      coalesce(digest_after, h.digest), case when kind = 'payload' then h.body end)
    returning id into fix;
  if kind = 'payload' then update onceward.held set body = fix_parked.body where id = number; end if;
  if grave then
    insert into onceward.approval (verb, consumer_id, held_ids, digest, reason, requested_by, requested_at, expires_at, lineage_id)
      values ('fix', of, array[number], sha256(fix_parked.body), because, '', clock_timestamp(), clock_timestamp() + interval '7 days', fix)
      returning * into asked;
  end if;
  perform onceward.audit_entry('parked fix', 'done', consumer, subject, because,
    jsonb_build_object('kind', kind, 'before', encode(h.digest, 'hex'), 'after', encode(digest_after, 'hex'), 'request', asked.id));
  return jsonb_build_object('ok', true, 'approval', asked.id::text);
end $$;

create or replace function onceward.approval_step() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    if not onceward.is_person() then
      raise exception 'role % is not listed in onceward.person', session_user using errcode = 'insufficient_privilege'; end if;
    new.requested_by := onceward.actor();
    new.requested_at := clock_timestamp();
    new.expires_at := least(new.expires_at, new.requested_at + interval '7 days');
    new.approved_by := null; new.approved_at := null; new.executed_by := null; new.executed_at := null;
    return new;
  end if;
  if (new.id, new.verb, new.consumer_id, new.held_ids, new.digest, new.reason, new.requested_by, new.requested_at, new.expires_at, new.lineage_id)
    is distinct from (old.id, old.verb, old.consumer_id, old.held_ids, old.digest, old.reason, old.requested_by, old.requested_at, old.expires_at,
      old.lineage_id)
  then raise exception 'a request for approval never changes' using errcode = 'insufficient_privilege'; end if;
  if clock_timestamp() > old.expires_at then
    raise exception 'request % has expired', old.id using errcode = 'insufficient_privilege'; end if;
  if old.approved_at is null then
    if not onceward.is_person() then
      raise exception 'role % is not listed in onceward.person', session_user using errcode = 'insufficient_privilege'; end if;
    if onceward.same_person(onceward.actor(), old.requested_by) then
      raise exception 'who requests does not approve' using errcode = 'insufficient_privilege'; end if;
    new.approved_by := onceward.actor();
    new.approved_at := clock_timestamp();
    new.executed_by := null; new.executed_at := null;
  elsif old.executed_at is null and old.verb = 'delete' then
    new.approved_by := old.approved_by; new.approved_at := old.approved_at;
    new.executed_by := onceward.actor();
    new.executed_at := clock_timestamp();
  else raise exception 'request % is %', old.id, case old.verb when 'delete' then 'executed' else 'approved' end
    using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;

-- Deletions and fixes alike: by another person, in time, of exactly what was looked at.
create or replace function onceward.approve(request bigint, seen bytea)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare a onceward.approval; of text; still bytea;
begin
  select * into a from onceward.approval where id = request for update;
  if not found then return onceward.refuse('approve', null, request::text, 'There is no such request.'); end if;
  select name into of from onceward.consumer where id = a.consumer_id;
  if onceward.same_person(a.requested_by, onceward.actor()) then
    return onceward.refuse('approve', of, request::text, 'Who requests does not approve.'); end if;
  if not onceward.is_person() then
    return onceward.refuse('approve', of, request::text,
      'Role ' || session_user || ' is nobody in person: it is not listed in onceward.person.'); end if;
  if clock_timestamp() > a.expires_at then return onceward.refuse('approve', of, request::text, 'The request has expired.'); end if;
  if a.approved_at is not null then
    return onceward.refuse('approve', of, request::text, 'It is approved already, by ' || a.approved_by || '.'); end if;
  if a.verb = 'fix' then
    perform from onceward.held h where h.id = a.held_ids[1] for update;
    select sha256(h.body) into still from onceward.held h
    where h.id = a.held_ids[1] and h.state in ('parked', 'dead', 'quarantined') and a.lineage_id = (
      select max(l.id) from onceward.lineage l where l.held_id = h.id and l.kind = 'payload');
    if still is distinct from a.digest then
      return onceward.refuse('approve', of, request::text, 'The payload is not what was requested any more: it was fixed again, or is gone.'); end if;
    if a.digest is distinct from seen then
      return onceward.refuse('approve', of, request::text, 'That is not the digest of the fixed payload.'); end if;
  elsif a.digest is distinct from seen or onceward.selection_digest(a.held_ids) is distinct from a.digest then
    return onceward.refuse('approve', of, request::text, 'The selection is not what was requested any more.');
  end if;
  update onceward.approval set approved_by = onceward.actor() where id = request;
  perform onceward.audit_entry('approve', 'done', of, request::text, a.reason,
    jsonb_build_object('verb', a.verb, 'requestedBy', a.requested_by, 'digest', encode(a.digest, 'hex')));
  return jsonb_build_object('ok', true);
end $$;

create or replace function onceward.delete_parked(request bigint, consumer text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare a onceward.approval; of text; answer jsonb;
begin
  select * into a from onceward.approval where id = request for update;
  if not found then return onceward.refuse('parked delete', consumer, request::text, 'There is no such request.'); end if;
  select name into of from onceward.consumer where id = a.consumer_id;
  if of is distinct from consumer then
    return onceward.refuse('parked delete', of, request::text, format('Request %s is not of consumer "%s".', request, consumer)); end if;
  if a.verb <> 'delete' then
    return onceward.refuse('parked delete', of, request::text, 'Request ' || request || ' is for a ' || a.verb || ', and erases nothing.'); end if;
  if a.approved_at is null then return onceward.refuse('parked delete', of, request::text, 'Nobody has approved it.'); end if;
  if onceward.same_person(a.approved_by, a.requested_by) then
    return onceward.refuse('parked delete', of, request::text, 'Who requested has approved it, under another spelling.'); end if;
  if a.executed_at is not null then return onceward.refuse('parked delete', of, request::text, 'It is done already.'); end if;
  if clock_timestamp() > a.expires_at then return onceward.refuse('parked delete', of, request::text, 'The approval has expired.'); end if;
  perform from onceward.blocked_key b where b.consumer_id = a.consumer_id and b.key in (
    select h.order_key from onceward.held h where h.id = any (a.held_ids)) order by b.key for update;
  perform from onceward.held h where h.id = any (a.held_ids) order by h.id for update;
  if onceward.selection_digest(a.held_ids) is distinct from a.digest then
    return onceward.refuse('parked delete', of, request::text, 'The selection has changed since it was approved.'); end if;
  answer := onceward.close_rows(a.consumer_id, a.held_ids, 'deleted', a.reason);
  update onceward.lineage set body_before = null where held_id = any (a.held_ids);
  update onceward.approval set executed_at = clock_timestamp() where id = request;
  perform onceward.audit_entry('parked delete', 'done', of, request::text, a.reason, answer || jsonb_build_object('requestedBy', a.requested_by,
    'approvedBy', a.approved_by, 'digest', encode(a.digest, 'hex'),
    'rows', (select jsonb_agg(jsonb_build_object('number', c.held_id, 'message', c.message_id, 'digest', encode(c.digest, 'hex')) order by c.held_id)
      from onceward.closed_held c where c.held_id = any (a.held_ids))));
  return answer;
end $$;
`
