/** What a person says with an act: a reason that can be read, and what they saw. An argument that is missing says neither. */
export const said = `
-- Where a function asked for a reason that is not of plain blanks, it asks for one that says something.
do $do$
declare asks record; plain constant text := $$coalesce(btrim(because), '') = ''$$;
begin
  for asks in select p.oid from pg_catalog.pg_proc p
    where p.pronamespace = 'onceward'::regnamespace and position(plain in p.prosrc) > 0
  loop
    execute replace(pg_catalog.pg_get_functiondef(asks.oid), plain, 'onceward.says_nothing(because)');
  end loop;
end $do$;

-- Whoever calls may roll back, and takes the entry back with it. The log of the server keeps what was tried.
create or replace function onceward.refuse(action text, consumer text, subject text, why text, detail jsonb default '{}')
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform onceward.audit_entry(action, 'refused', consumer, subject, why, detail);
  raise log 'onceward refused % "%" on % %: %', onceward.actor(), action, coalesce(consumer, '-'), coalesce(subject, '-'), why;
  return jsonb_build_object('ok', false, 'why', why);
end $$;

do $do$
declare plain constant text := 'life.id <> seen'; body text := pg_catalog.pg_get_functiondef('onceward.accept_server(bigint, text)'::regprocedure);
begin
  if position(plain in body) = 0 then raise exception 'accept_server is not as it was'; end if;
  execute replace(body, plain, 'life.id is distinct from seen');
end $do$;

-- Asked for again it is the same replay only under the same consumer; and to go on after a stop is an act with a reason of its own.
create or replace function onceward.redrive_start(request text, consumer text, ids bigint[], seen bytea, per_second integer, because text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare known onceward.redrive; of integer; mine bigint;
begin
  if onceward.says_nothing(because) then return onceward.refuse('parked replay', consumer, request, 'Say why.'); end if;
  perform pg_advisory_xact_lock(hashtext('onceward.redrive'), hashtext(request));
  select * into known from onceward.redrive r where r.request_id = request for update;
  if found then
    if known.digest is distinct from seen or not exists (
      select from onceward.consumer c where c.id = known.consumer_id and c.name = consumer) then
      return onceward.refuse('parked replay', consumer, request, 'This request id was used for another selection.'); end if;
    if known.state = 'stopped' then
      update onceward.redrive set state = 'moving', next_at = clock_timestamp() where id = known.id;
      perform onceward.audit_entry('parked replay', 'done', consumer, request, because, '{"resumed": true}');
    end if;
    return jsonb_build_object('ok', true, 'known', true);
  end if;
  of := onceward.selected_consumer(ids, consumer);
  if of is null then
    return onceward.refuse('parked replay', consumer, request, 'Not all of these rows are there and of this consumer.'); end if;
  if onceward.selection_digest(ids) is distinct from seen then
    return onceward.refuse('parked replay', consumer, request, 'The selection has changed since it was shown.'); end if;
  insert into onceward.redrive (request_id, consumer_id, reason, digest, rate_max) values (request, of, because, seen, per_second)
    returning id into mine;
  insert into onceward.redrive_row (redrive_id, held_id, message_id) select mine, h.id, h.message_id from onceward.held h where h.id = any (ids);
  perform onceward.audit_entry('parked replay', 'done', consumer, request, because,
    jsonb_build_object('rows', cardinality(ids), 'digest', encode(seen, 'hex'), 'perSecond', per_second));
  return jsonb_build_object('ok', true, 'known', false);
end $$;

-- Only what waits for people, of the consumer that was named, as it was shown. A refusal is an answer and stands in the audit.
drop function onceward.act_on_effect(bigint, integer, text, onceward.effect_state, text);
create function onceward.act_on_effect(effect bigint, consumer text, seen integer, act text, finding onceward.effect_state, because text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare was onceward.ledger; becomes onceward.effect_state; why text; named text := 'ledger ' || coalesce(left(act, 20), 'act');
begin
  select * into was from onceward.ledger l where l.id = effect for update;
  if not found then return onceward.refuse(named, consumer, effect::text, format('There is no effect %s.', effect)); end if;
  becomes := case when act = 'reconcile' and finding in ('completed', 'failed') then finding
    when act = 'retry' and finding is null then case when was.state = 'failed' then 'retryable' else 'unknown' end::onceward.effect_state end;
  why := case
    when was.consumer_name is distinct from consumer then format('Effect %s is not of consumer "%s".', effect, consumer)
    when onceward.says_nothing(because) then 'Say why.'
    when was.epoch is distinct from seen then format('Effect %s was changed by somebody else a moment ago.', effect)
    when was.state = 'completed' then format('Effect %s is completed: it has happened.', effect)
    when was.due_at <> 'infinity' then format('Effect %s is %s: a dispatcher still works on it.', effect, was.state)
    when becomes is null then 'An effect is retried, or reconciled as completed or failed.'
    when was.state = 'failed' and becomes = 'failed' then format('Effect %s is failed already: it did not happen.', effect)
  end;
  if why is not null then return onceward.refuse(named, was.consumer_name, effect::text, why); end if;
  update onceward.ledger l set state = becomes, epoch = l.epoch + 1,
    due_at = case when act = 'retry' then clock_timestamp() else 'infinity' end,
    attempts_forgiven = case when act = 'retry' then l.attempts else l.attempts_forgiven end,
    completed_at = case when becomes = 'completed' then clock_timestamp() end
  where l.id = effect;
  insert into onceward.ledger_action (ledger_id, action, reason, from_state, to_state) values (effect, act, because, was.state, becomes);
  return jsonb_build_object('ok', true);
end $$;
`
