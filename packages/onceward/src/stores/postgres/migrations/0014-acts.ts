/**
 * Everything a person does is one call of a function, which checks, changes and writes the audit in one transaction: the acts that were plain
 * statements of a client until now. No role of people has a right to write on a table.
 */
export const acts = `
-- A reason that nobody can see is none, of whichever alphabet its blanks are.
create function onceward.says_nothing(said text) returns boolean language sql immutable
return coalesce(btrim(onceward.visible_text(said)), '') = '';

-- What a loss is, for whoever accepts it: another end or another count is another loss. Declared again as it was, it is the same.
create function onceward.loss_digest(g onceward.gap) returns text language sql stable
return left(encode(sha256(convert_to(concat_ws(chr(31), (g).consumer_id, (g).partition, (g).from_incarnation, (g).from_next,
  coalesce((g).to_incarnation, '-'), coalesce((g).to_next, '-'), coalesce((g).records::text, '-')), 'UTF8')), 'hex'), 16);

-- Some rules ask about rows that they cannot lock. Under a snapshot from before the act they would hear what was true once.
create function onceward.assert_present() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    raise exception 'This is done in a transaction that is read committed, not %. Nothing was changed.', current_setting('transaction_isolation')
      using errcode = 'invalid_transaction_state'; end if;
end $$;

-- Accepted after somebody took the partition and read on, a loss would set the consumer back to where it once began. Who takes it at this
-- moment is waited for: the place is locked before the loss, as by who reads on.
create function onceward.accept_loss(loss bigint, consumer text, seen text, because text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare g onceward.gap; of text; subject text := loss::text;
begin
  perform onceward.assert_present();
  perform from onceward.checkpoint c join onceward.gap r on r.consumer_id = c.consumer_id and r.partition = c.partition
    where r.id = loss for share of c;
  select * into g from onceward.gap r where r.id = loss for update;
  if not found then return onceward.refuse('losses accept', consumer, subject, format('There is no declared loss %s.', loss)); end if;
  select c.name into of from onceward.consumer c where c.id = g.consumer_id;
  if of is distinct from consumer then
    return onceward.refuse('losses accept', of, subject, format('Loss %s is not of consumer "%s".', loss, consumer)); end if;
  if onceward.says_nothing(because) then
    return onceward.refuse('losses accept', of, subject, 'Say why the loss is acceptable.'); end if;
  if g.withdrawn_because is not null then
    return onceward.refuse('losses accept', of, subject, format('Loss %s was withdrawn: %s. There is nothing to accept.', loss,
      g.withdrawn_because)); end if;
  if g.accepted_at is not null or g.resumed_at is not null then
    return onceward.refuse('losses accept', of, subject, format('Loss %s is already %s, by %s.', loss,
      case when g.resumed_at is not null then 'resumed' else 'accepted' end, coalesce(g.accepted_by, 'nobody'))); end if;
  if onceward.loss_digest(g) is distinct from seen then
    return onceward.refuse('losses accept', of, subject, format('Loss %s is not as it was shown: it goes from %s to %s by now, %s records.',
      loss, g.from_next, coalesce(g.to_next, 'nowhere'), coalesce(g.records::text, 'an unknown number of'))); end if;
  if g.to_next is null then
    return onceward.refuse('losses accept', of, subject,
      format('Loss %s has nothing to go on from: bring the log back first, the next start declares it anew.', loss)); end if;
  if exists (select from onceward.checkpoint c
    where c.consumer_id = g.consumer_id and c.partition = g.partition and c.at > g.declared_at) then
    return onceward.refuse('losses accept', of, subject, format('Loss %s is not where the consumer stands any more: since it was declared '
      'somebody took the partition. If it halts there again, it declares the loss anew.', loss)); end if;
  -- Name and audit are written by the triggers of the table, as for every other way to an accepted loss.
  update onceward.gap set accepted_at = clock_timestamp(), accepted_because = because where id = loss;
  return jsonb_build_object('ok', true, 'acceptedBy', onceward.actor());
end $$;

-- It stops every consumer, so it has a name and a reason: of the process that met another life, or of a person who knows of one.
alter table onceward.server_life add column noticed_by text;
create or replace function onceward.notice_server(reason text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare now_is record; noticed bigint;
begin
  if onceward.says_nothing(reason) then
    raise exception 'Say why the server counts as another one. Nothing was changed.' using errcode = 'invalid_parameter_value'; end if;
  select * into now_is from onceward.server_now();
  insert into onceward.server_life (system_identifier, timeline, database_oid, why, noticed_by, survived_to)
  values (now_is.system_identifier, now_is.timeline, now_is.database_oid, left(reason, 500), onceward.actor(), greatest(
    (select max(heard_at) from onceward.run), (select max(started_at) from onceward.run)))
  on conflict ((true)) where accepted_at is null do nothing returning id into noticed;
  if found then
    perform onceward.audit_entry('restore notice', 'done', null, noticed::text, left(reason, 500),
      jsonb_build_object('timeline', now_is.timeline, 'system', now_is.system_identifier));
    return noticed;
  end if;
  select l.id into noticed from onceward.server_life l where l.accepted_at is null;
  return noticed;
end $$;

-- Every range of the plan has been read to its end.
create function onceward.campaign_complete(c onceward.campaign) returns boolean language sql stable
return not exists (
  select from jsonb_to_recordset(coalesce((c).plan -> 'catchUp', (c).plan -> 'ranges')) as r (partition text, "to" text)
  left join onceward.campaign_partition p on p.campaign_id = (c).id and p.partition = r.partition
  where p.next is distinct from r."to");

-- The rules of a campaign are its triggers'. What they refuse is an answer here, and stands in the audit.
create function onceward.create_campaign(consumer text, live smallint, asked_mode text, asked_effects text, selected jsonb,
  per_second integer, because text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare made bigint; why text;
begin
  if onceward.says_nothing(because) then return onceward.refuse('replay create', consumer, null, 'Say why.'); end if;
  begin
    insert into onceward.campaign (consumer_name, generation, live_generation, risk, mode, effects, selection, rate_max, reason)
    values (consumer, case when asked_mode = 'rebuild' then
        greatest(live, (select max(o.generation) from onceward.consumer o where o.name = consumer),
          (select max(p.generation) from onceward.campaign p where p.consumer_name = consumer)) + 1 else live end,
      live, '', asked_mode, asked_effects, selected, per_second, because) returning id into made;
    return jsonb_build_object('ok', true, 'id', made::text);
  exception when check_violation or not_null_violation or insufficient_privilege then
    get stacked diagnostics why = message_text;
  end;
  return onceward.refuse('replay create', consumer, null, 'The campaign was not created: ' || why || '.');
end $$;

create function onceward.plan_campaign(asked bigint, planned jsonb) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare was onceward.campaign; why text;
begin
  select * into was from onceward.campaign c where c.id = asked for update;
  if not found then return onceward.refuse('replay preview', null, asked::text, format('There is no campaign %s.', asked)); end if;
  if was.state not in ('created', 'previewed') then
    return onceward.refuse('replay preview', was.consumer_name, asked::text,
      format('Campaign %s is %s: its plan is fixed.', asked, was.state)); end if;
  -- Who approves is shown both. A plan that runs more than the selection says would be approved for what it is not.
  why := case
    when planned is null then 'There is no plan.'
    when was.selection ->> 'of' = 'parked' and planned #>> '{parked,digest}' is distinct from onceward.campaign_rows_digest(asked)
    then format('The plan of campaign %s has other rows than are selected: preview it.', asked)
    when was.selection ->> 'of' <> 'parked' and nullif(planned -> 'keys', 'null') is distinct from nullif(was.selection -> 'keys', 'null')
    then format('The plan of campaign %s has other keys than were asked for: preview it.', asked)
  end;
  if why is not null then return onceward.refuse('replay preview', was.consumer_name, asked::text, why); end if;
  update onceward.campaign set state = 'previewed', plan = planned where id = asked;
  return jsonb_build_object('ok', true);
end $$;

-- Exactly the rows that its selection means now, as they are. Called again it replaces the list.
create function onceward.select_campaign_rows(asked bigint, count_max integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare was onceward.campaign; keys text[]; selected integer;
begin
  select * into strict was from onceward.campaign c where c.id = asked for update;
  if was.state not in ('created', 'previewed') or was.selection ->> 'of' is distinct from 'parked' then
    raise exception 'campaign % is %: its rows are fixed', asked, was.state using errcode = 'check_violation'; end if;
  keys := case when was.selection ? 'keys' then array(select jsonb_array_elements_text(was.selection -> 'keys')) end;
  delete from onceward.campaign_row r where r.campaign_id = asked;
  insert into onceward.campaign_row (campaign_id, held_id, seen)
  select asked, h.id, onceward.seen_of(h)
  from onceward.held h join onceward.consumer c on c.id = h.consumer_id and c.name = was.consumer_name and c.generation = was.live_generation
  where h.state in ('parked', 'dead', 'quarantined')
    and (was.selection ->> 'cause' is null
      or onceward.cause_of(h.failure_class, h.code, onceward.place_of(h.place, h.origin, h.message_type)) = was.selection ->> 'cause')
    and (keys is null or h.order_key = any (keys) or h.message_id = any (keys) or h.business_key = any (keys))
  order by h.id limit count_max;
  get diagnostics selected = row_count;
  return selected;
end $$;

-- Pause, cancel, verify, finish. A process that runs the campaign is asked; one that died is not waited for.
create function onceward.steer_campaign(asked bigint, consumer text, act text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare was onceward.campaign; named text := 'replay ' || act; ready text; n_held integer; complete boolean; runs boolean;
begin
  select * into was from onceward.campaign c where c.id = asked for update;
  if not found then return onceward.refuse(named, consumer, asked::text, format('There is no campaign %s.', asked)); end if;
  if was.consumer_name is distinct from consumer then
    return onceward.refuse(named, was.consumer_name, asked::text, format('Campaign %s is not of consumer "%s".', asked, consumer)); end if;
  if act = 'pause' then
    if was.state <> 'running' or was.wanted is not null then
      return onceward.refuse(named, consumer, asked::text, format('Campaign %s is %s, and only what runs can pause.', asked, was.state)); end if;
    update onceward.campaign set wanted = 'pause' where id = asked;
  elsif act = 'cancel' then
    if was.state in ('swapped', 'finished', 'cancelled') then
      return onceward.refuse(named, consumer, asked::text, format('Campaign %s is %s%s', asked, was.state, case was.state
        when 'swapped' then ': finish it, or put the old tables back with "onceward replay rollback".' else '.' end)); end if;
    runs := was.state = 'running' and was.lease_until > clock_timestamp();
    update onceward.campaign c set wanted = case when runs then 'cancel' end, state = case when runs then c.state else 'cancelled' end,
      ended_at = clock_timestamp() where c.id = asked;
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

revoke execute on function onceward.accept_loss, onceward.notice_server, onceward.create_campaign, onceward.plan_campaign,
  onceward.select_campaign_rows, onceward.steer_campaign from public;
`
