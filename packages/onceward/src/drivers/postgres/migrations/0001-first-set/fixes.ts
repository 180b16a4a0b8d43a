/**
 * Fixed payloads. Where the risk of the consumer is grave, a second person approves exactly the fixed bytes
 * before anybody may let the row go; the fix itself makes the request.
 */
export const fixes = `
-- Why a row may not go although its payload is fixed; null when it may, or was not fixed. A request that was
-- made stands when the risk is lowered later; without a request, a risk that became grave asks for one.
create function onceward.fix_waits(number bigint) returns text language sql stable
return (
  select case when request.id is null or request.approved_at is null and request.expires_at < clock_timestamp()
    then 'its fix waits for approval, and no request for it stands: fix it again'
    else 'its fix waits for the approval of somebody other than ' || f.actor
      || ' (request ' || request.id || ')' end
  from onceward.held h
  join onceward.consumer c on c.id = h.consumer_id
  join lateral (
    select l.id, l.actor from onceward.fix l where l.held_id = h.id and l.kind = 'payload'
      order by l.id desc limit 1) f on true
  left join lateral (
    select a.* from onceward.approval a where a.fix_id = f.id order by a.id desc limit 1) request on true
  where h.id = number and (request.id is not null or onceward.is_high_risk(onceward.risk_of(c.name)))
    and not coalesce(request.approved_at is not null and request.digest = sha256(h.body)
      and not onceward.same_person(request.approved_by, f.actor), false));

-- The payload for whoever reads or archives it without judge_parked: while a fix waits for approval, it is
-- the payload that the message came with. A campaign on an archive, and a rebuild of what is held, are
-- approved for files and ranges, and not for the fixed bytes.
create function onceward.body_of(number bigint, body bytea) returns bytea language sql stable
return (
  case when onceward.fix_waits(number) is null then body else (
    select coalesce(l.body_before, ''::bytea) from onceward.fix l
      where l.held_id = number and l.kind = 'payload' order by l.id limit 1) end);

-- Whatever lets a row go: it does not go with a fix that is not approved.
create function onceward.fix_guard() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
declare why text := onceward.fix_waits(old.id);
begin
  if why is not null then
    raise exception 'Number % stays: %.', old.id, why using errcode = 'insufficient_privilege'; end if;
  return new;
end $$;
create trigger fix_guard before update of state on onceward.held for each row
  when (old.state in ('parked', 'dead', 'quarantined') and new.state not in ('parked', 'dead', 'quarantined'))
  execute function onceward.fix_guard();

-- digest_after is the digest that the contract makes of the new bytes, as the caller says; bytesAfter in the
-- audit is the database's own digest of them. key_digest is the business content after the fix: messages that
-- wait for the business key, or come later, are compared with it. The key of other content under the id of a
-- message that is done stays that message's.
create function onceward.fix_parked(consumer text, number bigint, kind text, expected bytea, body bytea,
  digest_after bytea, new_id text, reason text, key_digest bytea default null)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare h onceward.held; of_consumer integer := onceward.selected_consumer(array[number], consumer); marker record;
  subject text := number::text; fix bigint; request onceward.approval;
  grave boolean := kind = 'payload' and onceward.is_high_risk(onceward.risk_of(consumer));
begin
  if onceward.is_blank(reason) then
    return onceward.refuse('parked fix', consumer, subject, 'Say why.'); end if;
  if of_consumer is null then
    return onceward.refuse('parked fix', consumer, subject, 'There is no such row of this consumer.'); end if;
  if grave and not onceward.is_person() then
    return onceward.refuse('parked fix', consumer, subject,
      'Role ' || session_user || ' is nobody in person: it is not listed in onceward.person, '
      'and this payload needs two people.'); end if;
  select * into h from onceward.held where id = number for update;
  if h.state not in ('parked', 'dead', 'quarantined') then
    return onceward.refuse('parked fix', consumer, subject, 'It is at work.'); end if;
  if sha256(h.body) is distinct from expected then
    return onceward.refuse('parked fix', consumer, subject,
      'Somebody has changed it since it was read.'); end if;
  if h.message_id is null then
    if new_id is null then
      return onceward.refuse('parked fix', consumer, subject,
        'It has no message id: give one that reads well.'); end if;
    select status, message_id into marker from onceward.inbox i
      where i.consumer_id = of_consumer and i.message_id = new_id;
    if found then
      return onceward.refuse('parked fix', consumer, subject,
        'Message ' || new_id || ' is ' || marker.status || ' here already: skip this row.'); end if;
    insert into onceward.inbox (consumer_id, run_id, status, message_id, digest, position)
      values (of_consumer, h.run_id, h.state::text::onceward.marker_status, new_id, h.digest, h.position);
    update onceward.held set message_id = new_id where id = number;
  elsif new_id is not null and new_id <> h.message_id then
    return onceward.refuse('parked fix', consumer, subject,
      'A fix keeps the message id, which is ' || h.message_id || '.');
  end if;
  insert into onceward.fix
      (held_id, consumer_id, message_id, kind, reason, digest_before, digest_after, body_before)
    values (number, of_consumer, coalesce(h.message_id, new_id), kind, reason,
      coalesce((select l.digest_after from onceward.fix l where l.held_id = number
        order by l.id desc limit 1), h.digest),
      coalesce(digest_after, h.digest), case when kind = 'payload' then h.body end)
    returning id into fix;
  if kind = 'payload' then
    update onceward.held
      set body = fix_parked.body, key_digest = coalesce(fix_parked.key_digest, held.key_digest)
      where id = number;
    update onceward.business_key k set digest = fix_parked.key_digest
      where fix_parked.key_digest is not null and k.consumer_id = of_consumer and k.key = h.business_key
        and k.message_id = h.message_id and exists (
          select from onceward.inbox i where i.consumer_id = of_consumer and i.message_id = h.message_id
            and i.digest = h.digest and i.status in ('parked', 'dead', 'quarantined'));
  end if;
  if grave then
    insert into onceward.approval
        (verb, consumer_id, held_ids, digest, reason, requested_by, requested_at, expires_at, fix_id)
      values ('fix', of_consumer, array[number], sha256(fix_parked.body), reason, '', clock_timestamp(),
        clock_timestamp() + interval '7 days', fix)
      returning * into request;
  end if;
  perform onceward.audit_entry('parked fix', 'done', consumer, subject, reason,
    jsonb_build_object('kind', kind, 'before', encode(h.digest, 'hex'), 'after', encode(digest_after, 'hex'),
      'bytesAfter', encode(sha256(coalesce(fix_parked.body, h.body)), 'hex'), 'request', request.id));
  return jsonb_build_object('ok', true, 'approval', request.id::text);
end $$;
`
