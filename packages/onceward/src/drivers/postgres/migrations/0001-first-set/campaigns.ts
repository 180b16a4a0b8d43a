/**
 * Campaigns: request, coverage and states. Triggers decide requester, risk and permitted steps, for every
 * client that writes the row.
 */
export const campaigns = `
create table onceward.campaign (
  id              bigint generated always as identity primary key,
  consumer_name   text collate "C" not null,
  -- The generation it writes: the live one, or a new one for a rebuild.
  generation      smallint not null,
  live_generation smallint not null,
  risk            text not null,
  mode            text not null check (mode in ('replay', 'backfill', 'rebuild', 'repair', 'forensic')),
  effects         text not null default 'suppressed' check (effects in ('suppressed', 'requested')),
  state           text not null default 'created' check (state in
    ('created', 'previewed', 'running', 'paused', 'failed', 'ran', 'verified', 'swapped', 'finished',
      'cancelled')),
  selection       jsonb not null,
  plan            jsonb,
  -- Who made the plan that runs; not necessarily the requester.
  planned_by      text,
  plan_digest     bytea,
  needs_approval  boolean not null default true,
  rate_max        integer check (rate_max > 0),
  reason          text not null check (btrim(reason) <> ''),
  requested_by    text not null default '',
  -- Requested with the login of one person. Only such a campaign can be approved: with a shared login, one
  -- person could request and approve.
  by_person       boolean not null default false,
  requested_at    timestamptz not null default clock_timestamp(),
  -- What the running process is asked to do, and why.
  wanted          text check (wanted in ('pause', 'cancel')),
  steered_reason  text,
  holder          text,
  lease_until     timestamptz,
  epoch           integer not null default 0,
  started_at      timestamptz,
  ended_at        timestamptz,
  swapped_at      timestamptz,
  swap_snapshot   pg_snapshot,
  compared        jsonb,
  failure         text
);
create index campaign_open on onceward.campaign (consumer_name) where state not in ('finished', 'cancelled');
create trigger owner_deletes before delete on onceward.campaign
  for each row execute function onceward.owner_only();
create trigger owner_renumbers before update of id on onceward.campaign for each row
  when (old.id is distinct from new.id) execute function onceward.owner_only();

-- The permitted steps. The database rejects every other one.
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

-- The risk is assessed again each time the campaign may begin to run. The function sets its own search path,
-- like all others: functions and operators on the path of a caller could otherwise compute the digest of the
-- plan.
create function onceward.campaign_guard() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $guard$
declare judged text; renamed boolean := false;
begin
  if tg_op = 'INSERT' then
    -- A concurrent rename of the consumer is waited for.
    perform pg_advisory_xact_lock_shared(hashtext('onceward.name'), hashtext(new.consumer_name));
    new.requested_by := onceward.actor();
    new.by_person := onceward.is_person();
    new.requested_at := clock_timestamp();
    new.risk := onceward.risk_of(new.consumer_name);
    new.needs_approval := new.mode <> 'forensic'
      and (onceward.is_high_risk(new.risk) or new.effects = 'requested');
    new.planned_by := case when new.plan is not null then onceward.actor() end;
    if onceward.is_blank(new.reason) then
      raise exception 'a reason is required' using errcode = 'check_violation'; end if;
    if new.state <> 'created' then
      raise exception 'a campaign starts in state created, not %', new.state
        using errcode = 'check_violation';
    end if;
  else
    renamed := new.consumer_name <> old.consumer_name and old.state in ('finished', 'cancelled')
      and new.state = old.state
      and current_user = (select pg_get_userbyid(t.relowner) from pg_class t where t.oid = tg_relid);
    if (new.generation, new.live_generation, new.risk, new.mode, new.effects, new.selection,
        new.needs_approval, new.requested_by, new.by_person, new.requested_at)
      is distinct from (old.generation, old.live_generation, old.risk, old.mode, old.effects, old.selection,
        old.needs_approval, old.requested_by, old.by_person, old.requested_at)
      or new.consumer_name <> old.consumer_name and not renamed then
      raise exception
        'campaign % cannot be changed after its request: cancel it and create another', old.id
        using errcode = 'check_violation';
    end if;
    if new.plan is distinct from old.plan and old.state not in ('created', 'previewed')
      and not (old.mode = 'rebuild' and old.state in ('ran', 'verified', 'running')
        and new.plan - 'catchUp' is not distinct from old.plan - 'catchUp') then
      raise exception 'campaign % is %: its plan is fixed', old.id, old.state
        using errcode = 'check_violation';
    end if;
    new.planned_by := case when new.plan - 'catchUp' is distinct from old.plan - 'catchUp'
      then onceward.actor() else old.planned_by end;
    if new.plan ? 'catchUp' and (new.mode <> 'rebuild' or old.state in ('created', 'previewed')) then
      raise exception 'campaign % cannot follow a log: only a rebuild that has run can', old.id
        using errcode = 'check_violation';
    end if;
    if new.state is distinct from old.state and not exists (
      select from onceward.campaign_step s where s.from_state = old.state and s.to_state = new.state) then
      raise exception 'campaign % is % and cannot become %', old.id, old.state, new.state
        using errcode = 'check_violation';
    end if;
    -- An approval stays necessary after the risk was lowered, and becomes necessary after it was raised.
    if new.state not in ('finished', 'cancelled') then
      judged := onceward.risk_of(new.consumer_name);
      if onceward.risk_rank(judged) < onceward.risk_rank(old.risk) then new.risk := judged; end if;
      new.needs_approval := old.needs_approval or new.mode <> 'forensic' and onceward.is_high_risk(judged);
    end if;
  end if;
  -- A rename keeps the digest, which was approved under the old name.
  if not renamed then
    new.plan_digest := case when new.plan is not null then sha256(convert_to(jsonb_build_object(
      'consumer', new.consumer_name, 'generation', new.generation, 'mode', new.mode, 'effects', new.effects,
      'selection', new.selection, 'plan', new.plan - 'catchUp')::text, 'UTF8')) end;
  end if;
  -- A process that takes over from a crashed one raises the epoch, and needs an approval too.
  if tg_op = 'UPDATE' and new.state = 'running' and (old.state <> 'running' or new.epoch <> old.epoch)
    and new.needs_approval and not exists (
    select from onceward.campaign_approval a
    where a.campaign_id = new.id and a.plan_digest = new.plan_digest and a.expires_at > clock_timestamp()
      and not onceward.same_person(a.approved_by, new.requested_by)) then
    raise exception
      'campaign % needs an unexpired approval of exactly this plan by a person other than %',
      new.id, new.requested_by using errcode = 'insufficient_privilege';
  end if;
  return new;
end $guard$;
create trigger campaign_guard before insert or update on onceward.campaign
  for each row execute function onceward.campaign_guard();

create table onceward.campaign_event (
  id          bigint generated always as identity primary key,
  campaign_id bigint not null,
  at          timestamptz not null default clock_timestamp(),
  actor       text not null,
  action      text not null,
  detail      text not null default ''
);
create index campaign_event_by_campaign on onceward.campaign_event (campaign_id);

-- Each act on a campaign is in its history and in the audit, whose chain of hashes reveals a changed row.
create function onceward.campaign_event_of(campaign onceward.campaign, act text, detail text) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $event$
begin
  insert into onceward.campaign_event (campaign_id, actor, action, detail)
    values (campaign.id, onceward.actor(), act, detail);
  perform onceward.audit_entry('replay ' || act, 'done', campaign.consumer_name, campaign.id::text,
    campaign.reason, jsonb_build_object('mode', campaign.mode, 'effects', campaign.effects,
      'plan', encode(campaign.plan_digest, 'hex'), 'detail', nullif(detail, '')));
end $event$;

create function onceward.campaign_record() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $record$
begin
  if tg_op = 'INSERT' then
    perform onceward.campaign_event_of(new, 'created', new.reason);
  elsif new.state is distinct from old.state then
    perform onceward.campaign_event_of(new, new.state, coalesce(
      case new.state when 'failed' then new.failure when 'swapped' then new.compared ->> 'accepted'
        when 'cancelled' then new.steered_reason end, ''));
  elsif new.plan is distinct from old.plan then
    perform onceward.campaign_event_of(new, 'planned', encode(new.plan_digest, 'hex'));
  elsif new.wanted is distinct from old.wanted and new.wanted is not null then
    perform onceward.campaign_event_of(new, 'asked to ' || new.wanted, coalesce(new.steered_reason, ''));
  end if;
  return null;
end $record$;
create trigger campaign_record after insert or update on onceward.campaign
  for each row execute function onceward.campaign_record();
`
