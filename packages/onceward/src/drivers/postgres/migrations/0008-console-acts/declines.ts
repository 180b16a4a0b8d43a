/** A second person declines a request, or its requester withdraws it. It can never be approved after that. */
export const declines = `
create table onceward.declined (
  approval_id bigint primary key,
  declined_by text not null,
  at          timestamptz not null default clock_timestamp(),
  reason      text not null
);
-- All roles read it. Only the function below writes it: it runs as the owner, whom no policy restricts.
alter table onceward.declined enable row level security;
create policy readable on onceward.declined for select using (true);
create trigger append_only before update or delete or truncate on onceward.declined
  for each statement execute function onceward.audit_immutable();

create function onceward.decline(request bigint, reason text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare a onceward.approval; of_consumer text; why text;
begin
  perform onceward.assert_read_committed();
  select * into a from onceward.approval where id = request for update;
  if not found then
    return onceward.refuse('decline', null, request::text, 'There is no such request.'); end if;
  select name into of_consumer from onceward.consumer where id = a.consumer_id;
  why := case
    when onceward.is_blank(reason) then 'Say why.'
    when not onceward.is_person() then session_user || ' is not registered in onceward.person.'
    when a.approved_at is not null then 'It is already approved, by ' || a.approved_by || '.'
    when clock_timestamp() > a.expires_at then 'The request has expired.'
    when exists (select from onceward.declined d where d.approval_id = request) then 'It is already declined.'
  end;
  if why is not null then return onceward.refuse('decline', of_consumer, request::text, why); end if;
  insert into onceward.declined (approval_id, declined_by, reason) values (request, onceward.actor(), reason);
  perform onceward.audit_entry('decline', 'done', of_consumer, request::text, reason,
    jsonb_build_object('verb', a.verb, 'requestedBecause', a.reason, 'requestedBy', a.requested_by));
  return jsonb_build_object('ok', true);
end $$;

-- For deletions and fixes. Another person approves, before the request expires, exactly what that person saw.
create or replace function onceward.approve(request bigint, expected bytea, reason text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare a onceward.approval; of_consumer text; still bytea; declined_by text;
begin
  perform onceward.assert_read_committed();
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
  select d.declined_by into declined_by from onceward.declined d where d.approval_id = request;
  if declined_by is not null then
    return onceward.refuse('approve', of_consumer, request::text, 'It was declined, by ' || declined_by || '.');
  end if;
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

insert into onceward.function_right (function_name, callers) values ('decline', '{operator,approver,console}');
revoke execute on function onceward.decline from public;
`
