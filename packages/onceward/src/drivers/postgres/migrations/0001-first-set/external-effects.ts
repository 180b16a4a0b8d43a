/** The ledger of external effects. */
export const externalEffects = `
create type onceward.effect_state as enum
  ('pending', 'in flight', 'retryable', 'unknown', 'reconciling', 'completed', 'failed');

create table onceward.ledger (
  id                bigint generated always as identity primary key,
  consumer_name     text collate "C" not null,
  -- The consumer name of the request, if the consumer was renamed since. The idempotency key is derived from
  -- it, and must stay the same.
  original_consumer_name          text,
  target            text collate "C" not null,
  effect_key        text collate "C" not null,
  state             onceward.effect_state not null default 'pending',
  epoch             integer not null default 0,
  attempts          integer not null default 0,
  attempts_forgiven integer not null default 0,
  -- When the row may be leased next: at the next attempt, or at the end of a lease. Infinity if only an
  -- operator can continue it.
  due_at            timestamptz not null default clock_timestamp(),
  created_at        timestamptz not null default clock_timestamp(),
  last_attempt_at   timestamptz,
  -- Start of the first call that may have taken effect.
  doubt_since       timestamptz,
  completed_at      timestamptz,
  run_id            integer not null,
  message_id        text collate "C" not null,
  request_digest    bytea not null,
  content_type      text not null,
  body              bytea not null,
  response_status   integer,
  response_digest   bytea,
  response_excerpt  text,
  last_error        text,
  unique (consumer_name, target, effect_key)
);
-- Without completed rows: ten million of those cost only their entries in the unique index.
create index ledger_open on onceward.ledger (consumer_name, target, due_at) where state <> 'completed';

-- Acts of operators on rows of the ledger, with the reason. Written with the change, and never updated.
create table onceward.ledger_action (
  id         bigint generated always as identity primary key,
  ledger_id  bigint not null,
  at         timestamptz not null default clock_timestamp(),
  actor      text not null default session_user,
  action     text not null,
  reason     text not null,
  from_state onceward.effect_state not null,
  to_state   onceward.effect_state not null
);
create index ledger_action_by_row on onceward.ledger_action (ledger_id);

create function onceward.ledger_action_actor() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$ begin new.actor := onceward.actor(); return new; end $$;
create trigger actor before insert on onceward.ledger_action
  for each row execute function onceward.ledger_action_actor();

create function onceward.audit_ledger_action() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  perform onceward.audit_entry('ledger ' || new.action, 'done', l.consumer_name, new.ledger_id::text,
    new.reason,
    jsonb_build_object('from', new.from_state, 'to', new.to_state, 'target', l.target, 'key', l.effect_key))
  from onceward.ledger l where l.id = new.ledger_id;
  return null;
end $$;
create trigger audited after insert on onceward.ledger_action
  for each row execute function onceward.audit_ledger_action();

-- The finding of an operator about an effect, or the request for another attempt. It applies only to effects
-- of the named consumer that wait for an operator, and only while the row is as it was shown. Of two
-- concurrent operators the second waits for the first, and then finds another epoch.
create function onceward.act_on_effect(effect bigint, consumer text, expected integer, act text,
  finding onceward.effect_state, reason text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare was onceward.ledger; becomes onceward.effect_state; why text;
  named text := 'ledger ' || coalesce(left(act, 20), 'act');
begin
  select * into was from onceward.ledger l where l.id = effect for update;
  if not found then
    return onceward.refuse(named, consumer, effect::text, format('There is no effect %s.', effect)); end if;
  becomes := case when act = 'reconcile' and finding in ('completed', 'failed') then finding
    when act = 'retry' and finding is null
      then case when was.state = 'failed' then 'retryable' else 'unknown' end::onceward.effect_state end;
  why := case
    when was.consumer_name is distinct from consumer
      then format('Effect %s does not belong to consumer "%s".', effect, consumer)
    when onceward.is_blank(reason) then 'Say why.'
    when was.epoch is distinct from expected
      then format('Effect %s has changed since it was shown.', effect)
    when was.state = 'completed' then format('Effect %s is already completed.', effect)
    when was.due_at <> 'infinity'
      then format('Effect %s is %s and due again at %s. It can be reconciled once it needs attention.',
        effect, was.state, to_char(was.due_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
    when becomes is null then 'An effect can be retried, or reconciled as completed or not done.'
    when was.state = 'failed' and becomes = 'failed'
      then format('Effect %s is already recorded as not done.', effect)
  end;
  if why is not null then return onceward.refuse(named, was.consumer_name, effect::text, why); end if;
  update onceward.ledger l set state = becomes, epoch = l.epoch + 1,
    due_at = case when act = 'retry' then clock_timestamp() else 'infinity' end,
    attempts_forgiven = case when act = 'retry' then l.attempts else l.attempts_forgiven end,
    completed_at = case when becomes = 'completed' then clock_timestamp() end
  where l.id = effect;
  insert into onceward.ledger_action (ledger_id, action, reason, from_state, to_state)
    values (effect, act, reason, was.state, becomes);
  return jsonb_build_object('ok', true);
end $$;
`
