/**
 * Campaigns. What a person asked for, what it covers, who approved exactly that, how far it is, and what came of it. The rules that
 * protect people from each other are the database's own: who asked and who approved are set by triggers, not by clients.
 */
export const replay = `
do $do$ begin
  if to_regprocedure('onceward.actor()') is null then
    create function onceward.actor() returns text language sql stable return session_user::text;
  end if;
end $do$;

create table onceward.campaign (
  id             bigint generated always as identity primary key,
  consumer_name  text collate "C" not null,
  -- The generation it writes under: the live one, or a new one for a rebuild.
  generation     smallint not null,
  live_generation smallint not null,
  risk           text not null,
  mode           text not null check (mode in ('replay', 'backfill', 'rebuild', 'repair', 'forensic')),
  effects        text not null default 'suppressed' check (effects in ('suppressed', 'requested')),
  state          text not null default 'created' check (state in
    ('created', 'previewed', 'running', 'paused', 'failed', 'ran', 'verified', 'swapped', 'finished', 'cancelled')),
  selection      jsonb not null,
  plan           jsonb,
  plan_digest    bytea,
  needs_approval boolean not null default true,
  rate_max       integer check (rate_max > 0),
  reason         text not null check (btrim(reason) <> ''),
  requested_by   text not null default '',
  -- By a role of one human being: only what such a one asked for can be approved, or one person could be two.
  by_person      boolean not null default false,
  requested_at   timestamptz not null default clock_timestamp(),
  wanted         text check (wanted in ('pause', 'cancel')),
  holder         text,
  lease_until    timestamptz,
  epoch          integer not null default 0,
  started_at     timestamptz,
  ended_at       timestamptz,
  swapped_at     timestamptz,
  swap_snapshot  pg_snapshot,
  compared       jsonb,
  failure        text
);
create index campaign_open on onceward.campaign (consumer_name) where state not in ('finished', 'cancelled');

-- What a campaign may become. Whatever the client is, the database refuses the rest.
create table onceward.campaign_step (
  from_state text not null,
  to_state   text not null,
  primary key (from_state, to_state)
);
insert into onceward.campaign_step values
  ('created', 'previewed'), ('created', 'cancelled'),
  ('previewed', 'running'), ('previewed', 'cancelled'),
  ('running', 'paused'), ('running', 'failed'), ('running', 'ran'), ('running', 'cancelled'),
  ('paused', 'running'), ('paused', 'cancelled'),
  ('failed', 'running'), ('failed', 'cancelled'),
  ('ran', 'running'), ('ran', 'verified'), ('ran', 'cancelled'),
  ('verified', 'running'), ('verified', 'swapped'), ('verified', 'finished'), ('verified', 'cancelled'),
  ('swapped', 'cancelled'), ('swapped', 'finished');

-- One approval covers one plan: the digest is the database's, of everything that says what would happen.
create table onceward.campaign_approval (
  campaign_id  bigint not null,
  plan_digest  bytea not null,
  requested_by text not null,
  approved_by  text not null,
  approved_at  timestamptz not null,
  expires_at   timestamptz not null,
  because      text not null check (btrim(because) <> ''),
  primary key (campaign_id, plan_digest, approved_by, approved_at),
  constraint approver_is_not_requester check (onceward.human_of(approved_by) <> onceward.human_of(requested_by))
);

create table onceward.campaign_event (
  id          bigint generated always as identity primary key,
  campaign_id bigint not null,
  at          timestamptz not null default clock_timestamp(),
  actor       text not null,
  did         text not null,
  detail      text not null default ''
);
create index campaign_event_by_campaign on onceward.campaign_event (campaign_id);

-- How far a campaign is in each of its ranges; moves in the transaction of the effects. The epoch fences a runner that lost its place.
create table onceward.campaign_partition (
  campaign_id bigint not null,
  partition   text collate "C" not null,
  epoch       integer not null,
  run_id      integer not null,
  incarnation text,
  next        text,
  at          timestamptz not null default clock_timestamp(),
  primary key (campaign_id, partition)
) with (fillfactor = 50);

create table onceward.campaign_outcome (
  campaign_id bigint not null,
  outcome     text collate "C" not null,
  count       bigint not null,
  primary key (campaign_id, outcome)
) with (fillfactor = 50);

-- The first messages that did not end as a replay of them should: neither applied nor already applied.
create table onceward.campaign_finding (
  campaign_id bigint not null,
  message_id  text collate "C" not null,
  outcome     text not null,
  code        text not null,
  key         text collate "C",
  position    text,
  reason      text not null,
  at          timestamptz not null default now(),
  primary key (campaign_id, message_id)
);

-- What a handler asked for outside the database while the campaign did not let it.
create table onceward.would_have (
  campaign_id bigint not null,
  kind        text not null check (kind in ('external', 'call', 'publish')),
  target      text collate "C" not null,
  key         text collate "C" not null,
  message_id  text collate "C" not null,
  digest      bytea not null,
  at          timestamptz not null default now(),
  primary key (campaign_id, kind, target, key)
);

alter table onceward.run add column campaign_id bigint;

-- Its own search path: a caller's functions and operators would otherwise compute the digest.
create function onceward.campaign_guard() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $guard$
begin
  if tg_op = 'INSERT' then
    new.requested_by := onceward.actor();
    new.by_person := onceward.is_person();
    new.requested_at := clock_timestamp();
    new.risk := coalesce((select c.risk from onceward.consumer c where c.name = new.consumer_name
      order by c.generation desc limit 1), new.risk);
    new.needs_approval := new.mode <> 'forensic' and (new.risk in ('money', 'regulatory') or new.effects = 'requested');
    if new.state <> 'created' then
      raise exception 'a campaign begins as created, not as %', new.state using errcode = 'check_violation';
    end if;
  else
    if (new.consumer_name, new.generation, new.live_generation, new.risk, new.mode, new.effects, new.selection, new.needs_approval,
        new.requested_by, new.by_person, new.requested_at)
      is distinct from (old.consumer_name, old.generation, old.live_generation, old.risk, old.mode, old.effects, old.selection,
        old.needs_approval, old.requested_by, old.by_person, old.requested_at) then
      raise exception 'what campaign % is, and who asked for it, does not change: cancel it and create another', old.id
        using errcode = 'check_violation';
    end if;
    if new.plan is distinct from old.plan and old.state not in ('created', 'previewed')
      and not (old.mode = 'rebuild' and old.state in ('ran', 'verified', 'running')
        and new.plan - 'catchUp' is not distinct from old.plan - 'catchUp') then
      raise exception 'campaign % is %: its plan is fixed', old.id, old.state using errcode = 'check_violation';
    end if;
    if new.plan ? 'catchUp' and (new.mode <> 'rebuild' or old.state in ('created', 'previewed')) then
      raise exception 'campaign % follows no log: only a rebuild that has run does', old.id using errcode = 'check_violation';
    end if;
    if new.state is distinct from old.state and not exists (
      select from onceward.campaign_step s where s.from_state = old.state and s.to_state = new.state) then
      raise exception 'campaign % is % and cannot become %', old.id, old.state, new.state using errcode = 'check_violation';
    end if;
  end if;
  new.plan_digest := case when new.plan is not null then sha256(convert_to(jsonb_build_object(
    'consumer', new.consumer_name, 'generation', new.generation, 'mode', new.mode, 'effects', new.effects,
    'selection', new.selection, 'plan', new.plan - 'catchUp')::text, 'UTF8')) end;
  -- Whoever takes it over from a process that died raises the epoch, and needs an approval as much as who begins.
  if tg_op = 'UPDATE' and new.state = 'running' and (old.state <> 'running' or new.epoch <> old.epoch) and new.needs_approval and not exists (
    select from onceward.campaign_approval a
    where a.campaign_id = new.id and a.plan_digest = new.plan_digest and a.expires_at > clock_timestamp()) then
    raise exception 'campaign % needs the approval of somebody other than %, for exactly this plan, that has not expired', new.id, new.requested_by
      using errcode = 'insufficient_privilege';
  end if;
  return new;
end $guard$;

create trigger campaign_guard before insert or update on onceward.campaign
  for each row execute function onceward.campaign_guard();

-- Each act on a campaign stands in its history, and in the audit, whose chain nobody can mend.
create function onceward.campaign_event_of(campaign onceward.campaign, act text, detail text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $event$
begin
  insert into onceward.campaign_event (campaign_id, actor, did, detail) values (campaign.id, onceward.actor(), act, detail);
  perform onceward.audit_entry('replay ' || act, 'done', campaign.consumer_name, campaign.id::text, campaign.reason, jsonb_build_object(
    'mode', campaign.mode, 'effects', campaign.effects, 'plan', encode(campaign.plan_digest, 'hex'), 'detail', nullif(detail, '')));
end $event$;
revoke execute on function onceward.campaign_event_of from public;

create function onceward.campaign_record() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $record$
begin
  if tg_op = 'INSERT' then
    perform onceward.campaign_event_of(new, 'created', new.reason);
  elsif new.state is distinct from old.state then
    perform onceward.campaign_event_of(new, new.state, coalesce(
      case new.state when 'failed' then new.failure when 'swapped' then new.compared ->> 'accepted' end, ''));
  elsif new.plan is distinct from old.plan then
    perform onceward.campaign_event_of(new, 'planned', encode(new.plan_digest, 'hex'));
  elsif new.wanted is distinct from old.wanted and new.wanted is not null then
    perform onceward.campaign_event_of(new, 'asked to ' || new.wanted, '');
  end if;
  return null;
end $record$;

create trigger campaign_record after insert or update on onceward.campaign
  for each row execute function onceward.campaign_record();

create function onceward.campaign_approval_guard() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $guard$
declare
  asked onceward.campaign;
begin
  if tg_op <> 'INSERT' then
    raise exception 'an approval is neither changed nor taken back: cancel the campaign' using errcode = 'insufficient_privilege';
  end if;
  select * into asked from onceward.campaign where id = new.campaign_id for update;
  if not onceward.is_person() then
    raise exception 'role % is nobody in person: it is not listed in onceward.person', session_user using errcode = 'insufficient_privilege';
  end if;
  if found and not asked.by_person then
    raise exception 'campaign % was asked for by %, which is nobody in person: let a person create it', asked.id, asked.requested_by
      using errcode = 'insufficient_privilege';
  end if;
  -- What stopped on its way, or has more to follow, may have outlived its approval.
  if asked.id is null or not (asked.state in ('previewed', 'paused', 'failed', 'ran', 'verified')
    or asked.state = 'running' and asked.lease_until <= clock_timestamp()) then
    raise exception 'there is no campaign % that waits to be run', new.campaign_id using errcode = 'check_violation';
  end if;
  if new.plan_digest is distinct from asked.plan_digest then
    raise exception 'campaign % has another plan than the one approved: look at it again', new.campaign_id using errcode = 'check_violation';
  end if;
  new.requested_by := asked.requested_by;
  new.approved_by := onceward.actor();
  new.approved_at := clock_timestamp();
  if new.expires_at <= new.approved_at or new.expires_at > new.approved_at + interval '7 days' then
    raise exception 'an approval lasts up to seven days' using errcode = 'check_violation';
  end if;
  if onceward.human_of(new.approved_by) <> onceward.human_of(new.requested_by) then perform onceward.campaign_event_of(asked, 'approved', new.because); end if;
  return new;
end $guard$;

create trigger campaign_approval_guard before insert or update or delete on onceward.campaign_approval
  for each row execute function onceward.campaign_approval_guard();

-- As the acts on parked work: a refusal is an answer, and stands in the audit.
create function onceward.approve_campaign(asked bigint, seen bytea, because text, hours float8)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $approve$
declare of text; why text; rule text;
begin
  select consumer_name into of from onceward.campaign where id = asked;
  begin
    insert into onceward.campaign_approval (campaign_id, plan_digest, requested_by, approved_by, approved_at, expires_at, because)
    values (asked, seen, '', '', clock_timestamp(), clock_timestamp() + hours * interval '1 hour', because);
    return jsonb_build_object('ok', true);
  exception when check_violation or unique_violation or insufficient_privilege or not_null_violation then
    get stacked diagnostics why = message_text, rule = constraint_name;
  end;
  return onceward.refuse('replay approve', of, asked::text, case rule
    when 'approver_is_not_requester' then
      'Campaign ' || asked || ' was asked for by the user you are connected as: somebody else has to approve it, under a name of their own.'
    else 'Campaign ' || asked || ' was not approved: ' || why || '.' end);
end $approve$;
`
