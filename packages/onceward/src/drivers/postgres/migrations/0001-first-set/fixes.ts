/**
 * Fixed payloads. For a consumer of high risk, a second person approves exactly the fixed bytes before the
 * row can be released. The fix itself creates the request.
 */
export const fixes = `
-- Why a row with a fixed payload may not be released; null if it may, or if it was not fixed. An existing
-- request stays valid when the risk is lowered later. Without a request, a risk that became high requires
-- one.
create function onceward.fix_waits(number bigint) returns text language sql stable
return (
  select case when request.id is null or request.approved_at is null
    and request.expires_at < clock_timestamp()
    then 'its fix needs approval and has no open request: fix it again'
    else 'its fix needs the approval of a person other than ' || f.actor
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

-- The payload for readers and archives that do not call judge_parked. While a fix waits for approval, it is
-- the payload that the message arrived with. A campaign on an archive and a rebuild of held rows are approved
-- for files and ranges, not for fixed bytes.
create function onceward.body_of(number bigint, body bytea) returns bytea language sql stable
return (
  case when onceward.fix_waits(number) is null then body else (
    select coalesce(l.body_before, ''::bytea) from onceward.fix l
      where l.held_id = number and l.kind = 'payload' order by l.id limit 1) end);

-- No statement releases a row whose fix is not approved.
create function onceward.fix_guard() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
declare why text := onceward.fix_waits(old.id);
begin
  if why is not null then
    raise exception 'Row % was not released: %.', old.id, why
      using errcode = 'insufficient_privilege'; end if;
  return new;
end $$;
create trigger fix_guard before update of state on onceward.held for each row
  when (old.state in ('parked', 'dead', 'quarantined') and new.state not in ('parked', 'dead', 'quarantined'))
  execute function onceward.fix_guard();

-- digest_after is the digest of the new bytes according to the contract, as the caller computed it.
-- bytesAfter in the audit is the digest that the database computes. key_digest covers the business content
-- after the fix: messages that wait for the business key, and later ones, are compared with it. If the id
-- belongs to a completed message with other content, that message keeps the key.
create function onceward.fix_parked(consumer text, number bigint, kind text, expected bytea, body bytea,
  digest_after bytea, new_id text, reason text, key_digest bytea default null)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare h onceward.held; marker record;
  of_consumer integer := onceward.selected_consumer(array[number], consumer);
  subject text := number::text; fix bigint; request onceward.approval;
  high_risk boolean := kind = 'payload' and onceward.is_high_risk(onceward.risk_of(consumer));
begin
  if onceward.is_blank(reason) then
    return onceward.refuse('parked fix', consumer, subject, 'Say why.'); end if;
  if of_consumer is null then
    return onceward.refuse('parked fix', consumer, subject, 'This consumer has no such row.'); end if;
  if high_risk and not onceward.is_person() then
    return onceward.refuse('parked fix', consumer, subject,
      session_user || ' is not registered in onceward.person, '
      'and this payload needs two people.'); end if;
  select * into h from onceward.held where id = number for update;
  if h.state not in ('parked', 'dead', 'quarantined') then
    return onceward.refuse('parked fix', consumer, subject, 'A worker is processing it.'); end if;
  if sha256(h.body) is distinct from expected then
    return onceward.refuse('parked fix', consumer, subject,
      'It was changed since it was read.'); end if;
  if h.message_id is null then
    if new_id is null then
      return onceward.refuse('parked fix', consumer, subject,
        'It has no message id, and the fixed payload has none either.'); end if;
    select status, message_id into marker from onceward.inbox i
      where i.consumer_id = of_consumer and i.message_id = new_id;
    if found then
      return onceward.refuse('parked fix', consumer, subject,
        'Message ' || new_id || ' is already ' || marker.status || ' here: skip this row.'); end if;
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
  if high_risk then
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
