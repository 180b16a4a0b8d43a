/** Acts of operators on campaigns. A refusal of a trigger is returned here and audited. */
export const campaignActs = `
create function onceward.create_campaign(consumer text, live smallint, of_mode text, of_effects text,
  selected jsonb, per_second integer, reason text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare made bigint; why text;
begin
  if onceward.is_blank(reason) then
    return onceward.refuse('replay create', consumer, null, 'Say why.'); end if;
  begin
    insert into onceward.campaign (consumer_name, generation, live_generation, risk, mode, effects, selection,
      rate_max, reason)
    values (consumer, case when of_mode = 'rebuild' then
        greatest(live, (select max(o.generation) from onceward.consumer o where o.name = consumer),
          (select max(p.generation) from onceward.campaign p where p.consumer_name = consumer)) + 1
            else live end,
      live, '', of_mode, of_effects, selected, per_second, reason) returning id into made;
    return jsonb_build_object('ok', true, 'id', made::text);
  exception when check_violation or not_null_violation or insufficient_privilege then
    get stacked diagnostics why = message_text;
  end;
  return onceward.refuse('replay create', consumer, null, 'The campaign was not created: ' || why || '.');
end $$;

create function onceward.plan_campaign(of_campaign bigint, planned jsonb) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare was onceward.campaign; why text;
begin
  select * into was from onceward.campaign c where c.id = of_campaign for update;
  if not found then
    return onceward.refuse('replay preview', null, of_campaign::text,
      format('There is no campaign %s.', of_campaign)); end if;
  if was.state not in ('created', 'previewed') then
    return onceward.refuse('replay preview', was.consumer_name, of_campaign::text,
      format('Campaign %s is %s: its plan is fixed.', of_campaign, was.state)); end if;
  -- The approver sees selection and plan. A plan that covers more than the selection would be approved by
  -- mistake.
  why := case
    when planned is null then 'There is no plan.'
    when was.selection ->> 'of' = 'parked'
      and planned #>> '{parked,digest}' is distinct from onceward.campaign_rows_digest(of_campaign)
    then format('The plan of campaign %s does not match the selected rows: preview it again.', of_campaign)
    when was.selection ->> 'of' <> 'parked'
      and nullif(planned -> 'keys', 'null') is distinct from nullif(was.selection -> 'keys', 'null')
    then format('The plan of campaign %s does not match the requested keys: preview it again.', of_campaign)
  end;
  if why is not null then
    return onceward.refuse('replay preview', was.consumer_name, of_campaign::text, why); end if;
  update onceward.campaign set state = 'previewed', plan = planned where id = of_campaign;
  return jsonb_build_object('ok', true);
end $$;

-- Selects the rows that the selection covers now, as they are. A repeated call replaces them.
create function onceward.select_campaign_rows(of_campaign bigint, count_max integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare was onceward.campaign; keys text[]; selected integer;
begin
  select * into strict was from onceward.campaign c where c.id = of_campaign for update;
  if was.state not in ('created', 'previewed') or was.selection ->> 'of' is distinct from 'parked' then
    raise exception 'campaign % is %: its rows are fixed', of_campaign, was.state
      using errcode = 'check_violation'; end if;
  keys := case when was.selection ? 'keys'
    then array(select jsonb_array_elements_text(was.selection -> 'keys')) end;
  delete from onceward.campaign_row r where r.campaign_id = of_campaign;
  insert into onceward.campaign_row (campaign_id, held_id, row_version)
  select of_campaign, h.id, onceward.row_version(h)
  from onceward.held h join onceward.consumer c on c.id = h.consumer_id and c.name = was.consumer_name
    and c.generation = was.live_generation
  where h.state in ('parked', 'dead', 'quarantined')
    and (was.selection ->> 'cause' is null
      or onceward.cause_of(h.failure_class, h.code,
        onceward.place_of(h.place, h.origin, h.message_type)) = was.selection ->> 'cause')
    and (keys is null or h.order_key = any (keys) or h.message_id = any (keys) or h.business_key = any (keys))
  order by h.id limit count_max;
  get diagnostics selected = row_count;
  return selected;
end $$;

-- Pause, cancel, verify, finish. A process that runs the campaign is asked; a crashed process is not waited
-- for.
create function onceward.steer_campaign(of_campaign bigint, consumer text, act text, reason text default null)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare was onceward.campaign; named text := 'replay ' || act; ready text; n_held integer; complete boolean;
  runs boolean;
begin
  select * into was from onceward.campaign c where c.id = of_campaign for update;
  if not found then
    return onceward.refuse(named, consumer, of_campaign::text,
      format('There is no campaign %s.', of_campaign)); end if;
  if was.consumer_name is distinct from consumer then
    return onceward.refuse(named, was.consumer_name, of_campaign::text,
      format('Campaign %s does not belong to consumer "%s".', of_campaign, consumer)); end if;
  if act in ('pause', 'cancel') and onceward.is_blank(reason) then
    return onceward.refuse(named, consumer, of_campaign::text, 'Say why.'); end if;
  if act = 'pause' then
    if was.state <> 'running' or was.wanted is not null then
      return onceward.refuse(named, consumer, of_campaign::text,
        format('Campaign %s is %s: only a running campaign can pause.', of_campaign, was.state)); end if;
    update onceward.campaign set wanted = 'pause', steered_reason = steer_campaign.reason
      where id = of_campaign;
  elsif act = 'cancel' then
    if was.state in ('swapped', 'finished', 'cancelled') then
      return onceward.refuse(named, consumer, of_campaign::text,
        format('Campaign %s is %s%s', of_campaign, was.state,
        case was.state when 'swapped'
          then ': finish it, or restore the old tables with "onceward replay rollback".'
          else '.' end)); end if;
    runs := was.state = 'running' and was.lease_until > clock_timestamp();
    update onceward.campaign c set wanted = case when runs then 'cancel' end,
      state = case when runs then c.state else 'cancelled' end,
      ended_at = clock_timestamp(), steered_reason = steer_campaign.reason where c.id = of_campaign;
  elsif act = 'verify' then
    if was.state not in ('ran', 'verified') then
      return onceward.refuse(named, consumer, of_campaign::text,
        format('Campaign %s is %s: it can be verified once it has run to its end.',
          of_campaign, was.state)); end if;
    complete := onceward.campaign_complete(was);
    n_held := (select count(*) from onceward.held h join onceward.run r on r.id = h.run_id
      where h.campaign_id = of_campaign or r.campaign_id = of_campaign);
    if complete and not (was.mode = 'rebuild' and n_held > 0) and was.state = 'ran' then
      update onceward.campaign set state = 'verified' where id = of_campaign; end if;
    return jsonb_build_object('ok', true, 'complete', complete, 'held', n_held);
  elsif act = 'finish' then
    ready := case when was.mode = 'rebuild' then 'swapped' else 'verified' end;
    if was.state <> ready then
      return onceward.refuse(named, consumer, of_campaign::text,
        format('Campaign %s is %s: it can be finished once it is %s.',
          of_campaign, was.state, ready)); end if;
    -- Repaired keys need no rebuild any more, except keys with a message that still found a version gap.
    if was.mode = 'repair' then
      delete from onceward.rebuild_key k using onceward.consumer o
      where o.name = was.consumer_name and o.generation = was.generation and k.consumer_id = o.id
        and k.since < was.started_at and was.selection -> 'keys' ? k.key and not exists (
          select from onceward.campaign_finding f
            where f.campaign_id = of_campaign and f.code = 'rebuild' and f.key = k.key); end if;
    update onceward.campaign set state = 'finished' where id = of_campaign;
  else
    raise exception 'unknown act on a campaign: %', act using errcode = 'invalid_parameter_value';
  end if;
  return jsonb_build_object('ok', true, 'state', (select c.state from onceward.campaign c
    where c.id = of_campaign));
end $$;
`
