/** Requests for approval by a second person: to delete messages, or to apply a fixed payload. */
export const approvals = `
create table onceward.approval (
  id           bigint generated always as identity primary key,
  verb         text not null check (verb in ('delete', 'fix')),
  consumer_id  integer not null,
  held_ids     bigint[] not null,
  -- The fix to approve. A later fix needs its own approval, even with the same bytes.
  fix_id       bigint,
  digest       bytea not null,
  reason       text not null,
  requested_by text not null,
  requested_at timestamptz not null,
  expires_at   timestamptz not null,
  approved_by  text,
  approved_at  timestamptz,
  executed_by  text,
  executed_at  timestamptz,
  constraint approver_is_not_requester
    check (approved_by is null or not onceward.same_person(approved_by, requested_by)),
  constraint fix_has_its_row check ((verb = 'fix') = (fix_id is not null)),
  check ((approved_by is null) = (approved_at is null)),
  check (executed_at is null or approved_at is not null)
);
create index approval_of_fix on onceward.approval (fix_id) where fix_id is not null;

-- Requested, approved, executed: one step per statement. The trigger sets names and times; no other column of
-- a request changes.
create function onceward.approval_step() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    if not onceward.is_person() then
      raise exception '% is not registered in onceward.person', session_user
        using errcode = 'insufficient_privilege'; end if;
    new.requested_by := onceward.actor();
    new.requested_at := clock_timestamp();
    new.expires_at := least(new.expires_at, new.requested_at + interval '7 days');
    new.approved_by := null; new.approved_at := null; new.executed_by := null; new.executed_at := null;
    return new;
  end if;
  if (new.id, new.verb, new.consumer_id, new.held_ids, new.digest, new.reason, new.requested_by,
    new.requested_at, new.expires_at, new.fix_id)
    is distinct from (old.id, old.verb, old.consumer_id, old.held_ids, old.digest, old.reason,
      old.requested_by, old.requested_at, old.expires_at, old.fix_id)
  then
    raise exception 'a request for approval cannot be changed'
      using errcode = 'insufficient_privilege'; end if;
  if clock_timestamp() > old.expires_at then
    raise exception 'request % has expired', old.id using errcode = 'insufficient_privilege'; end if;
  if old.approved_at is null then
    if not onceward.is_person() then
      raise exception '% is not registered in onceward.person', session_user
        using errcode = 'insufficient_privilege'; end if;
    if onceward.same_person(onceward.actor(), old.requested_by) then
      raise exception 'the requester cannot approve' using errcode = 'insufficient_privilege'; end if;
    new.approved_by := onceward.actor();
    new.approved_at := clock_timestamp();
    new.executed_by := null; new.executed_at := null;
  elsif old.executed_at is null and old.verb = 'delete' then
    new.approved_by := old.approved_by; new.approved_at := old.approved_at;
    new.executed_by := onceward.actor();
    new.executed_at := clock_timestamp();
  else
    raise exception 'request % is %', old.id, case old.verb when 'delete' then 'executed' else 'approved' end
      using errcode = 'insufficient_privilege';
  end if;
  return new;
end $$;
create trigger step before insert or update on onceward.approval
  for each row execute function onceward.approval_step();
create trigger append_only before delete or truncate on onceward.approval
  for each statement execute function onceward.audit_immutable();

create function onceward.request_deletion(consumer text, ids bigint[], expected bytea, reason text,
  lasts_seconds integer)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare of_consumer integer := onceward.selected_consumer(ids, consumer); made onceward.approval;
  subject text := array_to_string(ids[1:20], ' ');
begin
  if onceward.is_blank(reason) then
    return onceward.refuse('parked delete request', consumer, subject, 'Say why.'); end if;
  if not onceward.is_person() then
    return onceward.refuse('parked delete request', consumer, subject,
      session_user || ' is not registered in onceward.person.'); end if;
  if of_consumer is null then
    return onceward.refuse('parked delete request', consumer, subject,
      'Some of these rows do not exist or belong to another consumer.'); end if;
  if onceward.selection_digest(ids) is distinct from expected then
    return onceward.refuse('parked delete request', consumer, subject,
      'The selection has changed since it was shown.'); end if;
  insert into onceward.approval
      (verb, consumer_id, held_ids, digest, reason, requested_by, requested_at, expires_at)
    values ('delete', of_consumer, ids, expected, reason, '', clock_timestamp(),
      clock_timestamp() + lasts_seconds * interval '1 second')
    returning * into made;
  perform onceward.audit_entry('parked delete request', 'done', consumer, made.id::text, reason,
    jsonb_build_object('rows', to_jsonb(ids), 'digest', encode(expected, 'hex'), 'until', made.expires_at));
  return jsonb_build_object('ok', true, 'approval', made.id, 'expiresAt', made.expires_at);
end $$;

-- For deletions and fixes. Another person approves, before the request expires, exactly what that person saw.
create function onceward.approve(request bigint, expected bytea, reason text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare a onceward.approval; of_consumer text; still bytea;
begin
  select * into a from onceward.approval where id = request for update;
  if not found then
    return onceward.refuse('approve', null, request::text, 'There is no such request.'); end if;
  select name into of_consumer from onceward.consumer where id = a.consumer_id;
  if onceward.is_blank(reason) then
    return onceward.refuse('approve', of_consumer, request::text, 'Say why.'); end if;
  if onceward.same_person(a.requested_by, onceward.actor()) then
    return onceward.refuse('approve', of_consumer, request::text, 'The requester cannot approve.'); end if;
  if not onceward.is_person() then
    return onceward.refuse('approve', of_consumer, request::text,
      session_user || ' is not registered in onceward.person.'); end if;
  if clock_timestamp() > a.expires_at then
    return onceward.refuse('approve', of_consumer, request::text, 'The request has expired.'); end if;
  if a.approved_at is not null then
    return onceward.refuse('approve', of_consumer, request::text,
      'It is already approved, by ' || a.approved_by || '.'); end if;
  if a.verb = 'fix' then
    perform from onceward.held h where h.id = a.held_ids[1] for update;
    select sha256(h.body) into still from onceward.held h
    where h.id = a.held_ids[1] and h.state in ('parked', 'dead', 'quarantined') and a.fix_id = (
      select max(l.id) from onceward.fix l where l.held_id = h.id and l.kind = 'payload');
    if still is distinct from a.digest then
      return onceward.refuse('approve', of_consumer, request::text,
        'The payload has changed since the request: it was fixed again, or the row is gone.'); end if;
    if a.digest is distinct from expected then
      return onceward.refuse('approve', of_consumer, request::text,
        'That is not the digest of the fixed payload.'); end if;
  elsif a.digest is distinct from expected
    or onceward.selection_digest(a.held_ids) is distinct from a.digest then
    return onceward.refuse('approve', of_consumer, request::text,
      'The selection has changed since the request.');
  end if;
  update onceward.approval set approved_by = onceward.actor() where id = request;
  perform onceward.audit_entry('approve', 'done', of_consumer, request::text, reason,
    jsonb_build_object('verb', a.verb, 'requestedBecause', a.reason, 'requestedBy', a.requested_by,
      'digest', encode(a.digest, 'hex')));
  return jsonb_build_object('ok', true);
end $$;

create function onceward.delete_parked(request bigint, consumer text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare a onceward.approval; of_consumer text; answer jsonb;
begin
  select * into a from onceward.approval where id = request for update;
  if not found then
    return onceward.refuse('parked delete', consumer, request::text, 'There is no such request.'); end if;
  select name into of_consumer from onceward.consumer where id = a.consumer_id;
  if of_consumer is distinct from consumer then
    return onceward.refuse('parked delete', of_consumer, request::text,
      format('Request %s does not belong to consumer "%s".', request, consumer)); end if;
  if a.verb <> 'delete' then
    return onceward.refuse('parked delete', of_consumer, request::text,
      'Request ' || request || ' is for a ' || a.verb || ', not for a deletion.'); end if;
  if a.approved_at is null then
    return onceward.refuse('parked delete', of_consumer, request::text, 'It has not been approved.'); end if;
  if onceward.same_person(a.approved_by, a.requested_by) then
    return onceward.refuse('parked delete', of_consumer, request::text,
      'The requester approved it, under another spelling.'); end if;
  if a.executed_at is not null then
    return onceward.refuse('parked delete', of_consumer, request::text, 'It is already done.'); end if;
  if clock_timestamp() > a.expires_at then
    return onceward.refuse('parked delete', of_consumer, request::text, 'The approval has expired.'); end if;
  perform from onceward.blocked_key b where b.consumer_id = a.consumer_id and b.key in (
    select h.order_key from onceward.held h where h.id = any (a.held_ids)) order by b.key for update;
  perform from onceward.held h where h.id = any (a.held_ids) order by h.id for update;
  if onceward.selection_digest(a.held_ids) is distinct from a.digest then
    return onceward.refuse('parked delete', of_consumer, request::text,
      'The selection has changed since it was approved.'); end if;
  answer := onceward.close_rows(a.consumer_id, a.held_ids, 'deleted', a.reason);
  update onceward.fix set body_before = null where held_id = any (a.held_ids);
  update onceward.approval set executed_at = clock_timestamp() where id = request;
  perform onceward.audit_entry('parked delete', 'done', of_consumer, request::text, a.reason,
    answer || jsonb_build_object('requestedBy', a.requested_by,
    'approvedBy', a.approved_by, 'digest', encode(a.digest, 'hex'),
    'rows', (select jsonb_agg(jsonb_build_object('number', c.held_id, 'message', c.message_id,
      'digest', encode(c.digest, 'hex')) order by c.held_id)
      from onceward.closed_held c where c.held_id = any (a.held_ids))));
  return answer;
end $$;
`
