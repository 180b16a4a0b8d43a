/** Approval of a campaign: a second person approves exactly its plan. */
export const campaignApprovals = `
-- One approval covers one plan. The database computes the digest over everything that defines the run.
create table onceward.campaign_approval (
  campaign_id  bigint not null,
  plan_digest  bytea not null,
  requested_by text not null,
  approved_by  text not null,
  approved_at  timestamptz not null,
  expires_at   timestamptz not null,
  reason       text not null check (btrim(reason) <> ''),
  primary key (campaign_id, plan_digest, approved_by, approved_at),
  constraint approver_is_not_requester check (not onceward.same_person(approved_by, requested_by))
);

create function onceward.campaign_approval_guard() returns trigger
language plpgsql security definer set search_path = pg_catalog, pg_temp as $guard$
declare
  requested onceward.campaign;
begin
  if tg_op <> 'INSERT' then
    raise exception 'an approval cannot be changed or withdrawn: cancel the campaign'
      using errcode = 'insufficient_privilege';
  end if;
  select * into requested from onceward.campaign where id = new.campaign_id for update;
  if not onceward.is_person() then
    raise exception '% is not registered in onceward.person', session_user
      using errcode = 'insufficient_privilege';
  end if;
  if found and not requested.by_person then
    raise exception
      'campaign % was requested by %, which is not registered in onceward.person: a person has to create it',
      requested.id, requested.requested_by using errcode = 'insufficient_privilege';
  end if;
  -- A campaign that stopped early, or that has more to read, may need another approval.
  if requested.id is null or not (requested.state in ('previewed', 'paused', 'failed', 'ran', 'verified')
    or requested.state = 'running' and requested.lease_until <= clock_timestamp()) then
    raise exception 'no campaign % waits to run', new.campaign_id
      using errcode = 'check_violation';
  end if;
  if new.plan_digest is distinct from requested.plan_digest then
    raise exception 'the plan of campaign % is not the approved one: review it again', new.campaign_id
      using errcode = 'check_violation';
  end if;
  if onceward.is_blank(new.reason) then
    raise exception 'a reason is required' using errcode = 'check_violation';
  end if;
  if not onceward.same_person(onceward.actor(), requested.requested_by)
    and onceward.same_person(onceward.actor(), coalesce(requested.planned_by, '-')) then
    raise exception
      'its plan was made by %, who therefore cannot approve it: % can make it again with '
      '"onceward replay preview", or another person can approve',
      requested.planned_by, requested.requested_by using errcode = 'insufficient_privilege';
  end if;
  new.requested_by := requested.requested_by;
  new.approved_by := onceward.actor();
  new.approved_at := clock_timestamp();
  if new.expires_at <= new.approved_at or new.expires_at > new.approved_at + interval '7 days' then
    raise exception 'an approval is valid for at most seven days' using errcode = 'check_violation';
  end if;
  if not onceward.same_person(new.approved_by, new.requested_by) then
    perform onceward.campaign_event_of(requested, 'approved', new.reason); end if;
  return new;
end $guard$;
create trigger campaign_approval_guard before insert or update or delete on onceward.campaign_approval
  for each row execute function onceward.campaign_approval_guard();

-- As with the acts on parked work, a refusal is returned and audited.
create function onceward.approve_campaign(of_campaign bigint, expected bytea, reason text, hours float8)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $approve$
declare of_consumer text; why text; rule text;
begin
  select consumer_name into of_consumer from onceward.campaign where id = of_campaign;
  begin
    insert into onceward.campaign_approval (campaign_id, plan_digest, requested_by, approved_by, approved_at,
      expires_at, reason)
    values (of_campaign, expected, '', '', clock_timestamp(), clock_timestamp() + hours * interval '1 hour',
      reason);
    return jsonb_build_object('ok', true);
  exception when check_violation or unique_violation or insufficient_privilege or not_null_violation then
    get stacked diagnostics why = message_text, rule = constraint_name;
  end;
  return onceward.refuse('replay approve', of_consumer, of_campaign::text, case rule
    when 'approver_is_not_requester' then
      'Campaign ' || of_campaign
        || ' was requested by the user you are connected as: another person has to approve it, '
        'with their own login.'
    else 'Campaign ' || of_campaign || ' was not approved: ' || why || '.' end);
end $approve$;

-- A campaign that applies messages which operators gave up needs an approval at any risk. Triggers run in the
-- order of their names: this one after campaign_guard, which assesses the risk.
create function onceward.campaign_reopens() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  new.needs_approval := new.needs_approval or new.mode <> 'forensic';
  return new;
end $$;
create trigger campaign_reopens before insert on onceward.campaign for each row
  when (new.selection -> 'includingSkipped' = 'true') execute function onceward.campaign_reopens();
`
