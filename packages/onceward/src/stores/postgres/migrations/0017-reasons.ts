/** Acts that said too little: a reason for each decision, no act that is recorded as done and did nothing, none that blocks all others. */
export const reasons = `
alter table onceward.campaign add column steered_because text;
create or replace function onceward.campaign_record() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $record$
begin
  if tg_op = 'INSERT' then
    perform onceward.campaign_event_of(new, 'created', new.reason);
  elsif new.state is distinct from old.state then
    perform onceward.campaign_event_of(new, new.state, coalesce(
      case new.state when 'failed' then new.failure when 'swapped' then new.compared ->> 'accepted'
        when 'cancelled' then new.steered_because end, ''));
  elsif new.plan is distinct from old.plan then
    perform onceward.campaign_event_of(new, 'planned', encode(new.plan_digest, 'hex'));
  elsif new.wanted is distinct from old.wanted and new.wanted is not null then
    perform onceward.campaign_event_of(new, 'asked to ' || new.wanted, coalesce(new.steered_because, ''));
  end if;
  return null;
end $record$;

drop function onceward.steer_campaign(bigint, text, text);
create function onceward.steer_campaign(asked bigint, consumer text, act text, because text default null) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare was onceward.campaign; named text := 'replay ' || act; ready text; n_held integer; complete boolean; runs boolean;
begin
  select * into was from onceward.campaign c where c.id = asked for update;
  if not found then return onceward.refuse(named, consumer, asked::text, format('There is no campaign %s.', asked)); end if;
  if was.consumer_name is distinct from consumer then
    return onceward.refuse(named, was.consumer_name, asked::text, format('Campaign %s is not of consumer "%s".', asked, consumer)); end if;
  if act in ('pause', 'cancel') and onceward.says_nothing(because) then
    return onceward.refuse(named, consumer, asked::text, 'Say why.'); end if;
  if act = 'pause' then
    if was.state <> 'running' or was.wanted is not null then
      return onceward.refuse(named, consumer, asked::text, format('Campaign %s is %s, and only what runs can pause.', asked, was.state)); end if;
    update onceward.campaign set wanted = 'pause', steered_because = because where id = asked;
  elsif act = 'cancel' then
    if was.state in ('swapped', 'finished', 'cancelled') then
      return onceward.refuse(named, consumer, asked::text, format('Campaign %s is %s%s', asked, was.state, case was.state
        when 'swapped' then ': finish it, or put the old tables back with "onceward replay rollback".' else '.' end)); end if;
    runs := was.state = 'running' and was.lease_until > clock_timestamp();
    update onceward.campaign c set wanted = case when runs then 'cancel' end, state = case when runs then c.state else 'cancelled' end,
      ended_at = clock_timestamp(), steered_because = because where c.id = asked;
  elsif act = 'verify' then
    if was.state not in ('ran', 'verified') then
      return onceward.refuse(named, consumer, asked::text,
        format('Campaign %s is %s: it is verified when it has run to its end.', asked, was.state)); end if;
    complete := onceward.campaign_complete(was);
    n_held := (select count(*) from onceward.held h join onceward.run r on r.id = h.run_id
      where h.campaign_id = asked or r.campaign_id = asked);
    if complete and not (was.mode = 'rebuild' and n_held > 0) and was.state = 'ran' then
      update onceward.campaign set state = 'verified' where id = asked; end if;
    return jsonb_build_object('ok', true, 'complete', complete, 'held', n_held);
  elsif act = 'finish' then
    ready := case when was.mode = 'rebuild' then 'swapped' else 'verified' end;
    if was.state <> ready then
      return onceward.refuse(named, consumer, asked::text,
        format('Campaign %s is %s, and it is finished once it is %s.', asked, was.state, ready)); end if;
    -- Keys that were to be rebuilt and were repaired are off the list; not those of which a message found its gap still open.
    if was.mode = 'repair' then
      delete from onceward.rebuild_key k using onceward.consumer o
      where o.name = was.consumer_name and o.generation = was.generation and k.consumer_id = o.id and k.since < was.started_at
        and was.selection -> 'keys' ? k.key and not exists (
          select from onceward.campaign_finding f where f.campaign_id = asked and f.code = 'rebuild' and f.key = k.key); end if;
    update onceward.campaign set state = 'finished' where id = asked;
  else
    raise exception 'a campaign is not steered by %', act using errcode = 'invalid_parameter_value';
  end if;
  return jsonb_build_object('ok', true, 'state', (select c.state from onceward.campaign c where c.id = asked));
end $$;

drop function onceward.approve(bigint, bytea);
create function onceward.approve(request bigint, seen bytea, because text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare a onceward.approval; of text; still bytea;
begin
  select * into a from onceward.approval where id = request for update;
  if not found then return onceward.refuse('approve', null, request::text, 'There is no such request.'); end if;
  select name into of from onceward.consumer where id = a.consumer_id;
  if onceward.says_nothing(because) then return onceward.refuse('approve', of, request::text, 'Say why.'); end if;
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
  perform onceward.audit_entry('approve', 'done', of, request::text, because,
    jsonb_build_object('verb', a.verb, 'requestedBecause', a.reason, 'requestedBy', a.requested_by, 'digest', encode(a.digest, 'hex')));
  return jsonb_build_object('ok', true);
end $$;

-- A row that went to work after it was shown is not skipped, and the act says so.
create or replace function onceward.skip_parked(consumer text, ids bigint[], seen bytea, because text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare of integer := onceward.selected_consumer(ids, consumer); answer jsonb; busy text; subject text := array_to_string(ids[1:20], ' ');
begin
  if onceward.says_nothing(because) then return onceward.refuse('parked skip', consumer, subject, 'Say why.'); end if;
  if of is null then
    return onceward.refuse('parked skip', consumer, subject, 'Not all of these rows are there and of this consumer.'); end if;
  perform from onceward.blocked_key b where b.consumer_id = of and b.key in (
    select h.order_key from onceward.held h where h.id = any (ids)) order by b.key for update;
  perform from onceward.held h where h.id = any (ids) order by h.id for update;
  select string_agg(h.id::text, ' ' order by h.id) into busy from onceward.held h
    where h.id = any (ids) and h.state not in ('parked', 'dead', 'quarantined');
  if busy is not null then return onceward.refuse('parked skip', consumer, subject,
    'At work already, and decided by nobody: number ' || busy || '. Look again when it is done.'); end if;
  if onceward.selection_digest(ids) is distinct from seen then
    return onceward.refuse('parked skip', consumer, subject, 'The selection has changed since it was shown.'); end if;
  answer := onceward.close_rows(of, ids, 'skipped', because);
  perform onceward.audit_entry('parked skip', 'done', consumer, subject, because,
    answer || jsonb_build_object('digest', encode(seen, 'hex'), 'rows', to_jsonb(ids)));
  return answer;
end $$;

-- Whoever leaves an act open in a transaction keeps the head of the audit, and all other acts wait for it: such a session ends after a minute.
create or replace function onceward.audit_entry(action text, outcome text, consumer text, subject text, reason text, detail jsonb default '{}')
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare idle constant interval := current_setting('idle_in_transaction_session_timeout')::interval;
begin
  if idle = interval '0' or idle > interval '1 minute' then perform set_config('idle_in_transaction_session_timeout', '60s', true); end if;
  insert into onceward.audit (seq, at, actor, action, outcome, consumer, subject, reason, detail, previous, hash)
  values (0, clock_timestamp(), '', action, outcome, consumer, subject, reason, detail, '', '');
end $$;

-- What the bytes are says the database. The digest that the contract makes of them is the caller's word.
do $do$
declare plain constant text := $$'after', encode(digest_after, 'hex')$$;
  body text := pg_catalog.pg_get_functiondef('onceward.fix_parked(text, bigint, text, bytea, bytea, bytea, text, text)'::regprocedure);
begin
  if position(plain in body) = 0 then raise exception 'fix_parked is not as it was'; end if;
  execute replace(body, plain, plain || $$, 'bytesAfter', encode(sha256(coalesce(fix_parked.body, h.body)), 'hex')$$);
end $do$;
-- Functions that were made anew have no rights yet.
do $do$ begin
  if exists (select from pg_catalog.pg_namespace n, aclexplode(n.nspacl) a join pg_catalog.pg_roles r on r.oid = a.grantee
    where n.nspname = 'onceward' and r.rolname = 'onceward_operator') then
    perform onceward.create_roles();
  end if;
end $do$;
revoke execute on function onceward.steer_campaign, onceward.approve from public;
`
