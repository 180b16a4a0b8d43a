/** Progress of a campaign, its results, and the parked rows that it covers. */
export const campaignProgress = `
-- Progress in each range of the plan, written in the transaction of the effects. The epoch fences a process
-- that has lost the campaign. Batches in flight end in any order: next is the first record without an
-- outcome, and ahead has the later records with one, which are already counted. ahead is empty while batches
-- end in order.
create table onceward.campaign_partition (
  campaign_id bigint not null,
  partition   text collate "C" not null,
  epoch       integer not null,
  run_id      integer not null,
  incarnation text,
  next        text,
  ahead       int8multirange not null default '{}',
  at          timestamptz not null default clock_timestamp(),
  primary key (campaign_id, partition)
) with (fillfactor = 50);

-- Whether every range of the plan has been read to its end.
create function onceward.campaign_complete(c onceward.campaign) returns boolean language sql stable
return not exists (
  select from jsonb_to_recordset(coalesce((c).plan -> 'catchUp', (c).plan -> 'ranges')) as r (partition text,
    "to" text)
  left join onceward.campaign_partition p on p.campaign_id = (c).id and p.partition = r.partition
  where p.next is distinct from r."to");

create table onceward.campaign_outcome (
  campaign_id bigint not null,
  outcome     text collate "C" not null,
  count       bigint not null,
  primary key (campaign_id, outcome)
) with (fillfactor = 50);

-- The first messages of a replay with an unexpected outcome: neither applied nor already applied.
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

-- External effects that a handler requested and that the campaign suppressed.
create table onceward.suppressed_effect (
  campaign_id bigint not null,
  kind        text not null check (kind in ('external', 'call', 'publish')),
  target      text collate "C" not null,
  key         text collate "C" not null,
  message_id  text collate "C" not null,
  digest      bytea not null,
  at          timestamptz not null default now(),
  primary key (campaign_id, kind, target, key)
);
create index suppressed_effect_by_message on onceward.suppressed_effect (message_id);

-- Rows of a campaign on parked messages, exactly as selected. They stay parked during the campaign, so an
-- operator may act on any of them; the first commit wins.
create table onceward.campaign_row (
  campaign_id bigint not null,
  held_id     bigint not null,
  -- What was selected: state, content and latest fix.
  row_version text not null,
  state       text not null default 'open' check (state in ('open', 'done', 'left')),
  why         text,
  primary key (campaign_id, held_id)
) with (fillfactor = 80);

create function onceward.row_version(h onceward.held) returns text language sql stable
return concat_ws(' ', (h).state, encode((h).digest, 'hex'), (
  select max(l.id) from onceward.fix l where l.held_id = (h).id));

create function onceward.campaign_rows_digest(campaign bigint) returns text language sql stable
return (
  select encode(sha256(convert_to(
    coalesce(string_agg(r.held_id || ' ' || r.row_version, ',' order by r.held_id), ''), 'UTF8')), 'hex')
  from onceward.campaign_row r where r.campaign_id = campaign);

-- The approved plan contains the digest of the rows, so no row can be added after the approval.
create function onceward.campaign_rows_guard() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $guard$
begin
  if onceward.campaign_rows_digest(new.id) is distinct from new.plan #>> '{parked,digest}' then
    raise exception 'the rows of campaign % differ from its plan', new.id
      using errcode = 'insufficient_privilege';
  end if;
  return new;
end $guard$;
create trigger campaign_rows_guard before update of state on onceward.campaign for each row
  when (new.state = 'running' and old.state <> 'running' and new.plan ? 'parked')
  execute function onceward.campaign_rows_guard();

-- Nor can a row be added while the campaign runs, when the digest is no longer compared. The campaign is
-- locked: a process that is about to run it is waited for.
create function onceward.campaign_rows_fixed() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $fixed$
declare late onceward.campaign;
begin
  perform from onceward.campaign c where c.id in (select campaign_id from added)
    order by c.id for no key update;
  select * into late from onceward.campaign c
    where c.id in (select campaign_id from added) and c.state not in ('created', 'previewed') limit 1;
  if found then
    raise exception 'campaign % is %: its rows are fixed', late.id, late.state
      using errcode = 'check_violation'; end if;
  return null;
end $fixed$;
create trigger campaign_rows_fixed after insert on onceward.campaign_row referencing new table as added
  for each statement execute function onceward.campaign_rows_fixed();
`
