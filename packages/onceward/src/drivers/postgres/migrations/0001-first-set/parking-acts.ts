/**
 * What people do to messages that were set aside. Each act is one function, which checks, changes and writes
 * the audit in one transaction. Its caller needs no right on the tables, so that nobody can avoid its rules.
 */
export const parkingActs = `
-- Takes rows out for good. Their markers become ignored, with who decided it and why, so that a copy is a
-- duplicate; their keys, and what waits for their business keys, go on if nothing else holds them.
create function onceward.close_rows(of_consumer integer, ids bigint[], way text, reason text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare keys text[]; closed integer; freed bigint[]; ended text[]; enders text[];
begin
  keys := array(select distinct h.order_key from onceward.held h
    where h.id = any (ids) and h.order_key is not null order by 1);
  perform from onceward.blocked_key b where b.consumer_id = of_consumer and b.key = any (keys)
    order by b.key for update;
  -- All of them: a message that is being stored behind one at this moment is seen only behind the marker's lock.
  select array_agg(k.key), array_agg(k.message_id) into ended, enders
    from onceward.held h
    join onceward.business_key k
      on k.consumer_id = of_consumer and k.key = h.business_key and k.message_id = h.message_id
    where h.id = any (ids);
  with gone as (
    delete from onceward.held h where h.id = any (ids) and h.state in ('parked', 'dead', 'quarantined')
    returning h.*, onceward.held_to_json(h) as record),
  unmarked as (
    update onceward.inbox i set status = 'ignored',
      reason = left(close_rows.way || ' by ' || onceward.actor() || ': ' || close_rows.reason, 200)
    from (select of_consumer as consumer_id, gone.message_id, gone.digest from gone offset 0) m
    where i.consumer_id = any (array[m.consumer_id]) and i.message_id = any (array[m.message_id])
      and i.digest = m.digest and i.status in ('parked', 'dead', 'quarantined')),
  unkeyed as (
    delete from onceward.business_key k using gone
    where k.consumer_id = of_consumer and k.key = gone.business_key and k.message_id = gone.message_id
      -- Other content under the id of a message that is applied or held: the key is that message's.
      and not exists (select from onceward.inbox i where i.consumer_id = of_consumer and i.message_id = gone.message_id
        and (i.digest <> gone.digest or i.status not in ('parked', 'dead', 'quarantined')))),
  made_room as (
    update onceward.blocked_key b set waiting = greatest(0, b.waiting - n.count)
    from (select order_key, count(*)::integer from gone
      where code = 'behind_parked' and order_key is not null group by order_key) n
    where b.consumer_id = of_consumer and b.key = n.order_key),
  settled as (
    update onceward.redrive_row r set outcome = way from gone
    where r.held_id = gone.id and r.state = 'moved' and r.outcome is null)
  insert into onceward.closed_held (held_id, consumer_id, message_id, digest, closed_as, reason, record, body)
  select gone.id, of_consumer, gone.message_id, gone.digest, way, close_rows.reason, gone.record,
    case when way = 'skipped' then gone.body end
  from gone;
  get diagnostics closed = row_count;
  keys := array(
    select key from unnest(keys) as key where not exists (
      select from onceward.held h where h.consumer_id = of_consumer and h.order_key = key and h.order_key is not null
        and h.state in ('stored', 'parked') and h.state = 'parked' and h.code <> 'behind_parked')
    and not exists (
      select from onceward.held h where h.consumer_id = of_consumer and h.order_key = key and h.order_key is not null
        and h.state = 'quarantined'));
  -- The business key is passed on first: freed before, a later message of the order key could take it from
  -- the first that waits, and rows would wait for higher numbers.
  if ended is not null then perform onceward.end_key_waits(of_consumer, ended, enders); end if;
  freed := onceward.unblock_keys(of_consumer, keys);
  return jsonb_build_object('ok', true, 'closed', closed, 'freed', cardinality(freed));
end $$;

-- A row that went to work after it was shown is not skipped, and the answer says so.
create function onceward.skip_parked(consumer text, ids bigint[], expected bytea, reason text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare of_consumer integer := onceward.selected_consumer(ids, consumer); answer jsonb; busy text;
  subject text := array_to_string(ids[1:20], ' ');
begin
  if onceward.is_blank(reason) then
    return onceward.refuse('parked skip', consumer, subject, 'Say why.'); end if;
  if of_consumer is null then
    return onceward.refuse('parked skip', consumer, subject,
      'Not all of these rows are there and of this consumer.'); end if;
  perform from onceward.blocked_key b where b.consumer_id = of_consumer and b.key in (
    select h.order_key from onceward.held h where h.id = any (ids)) order by b.key for update;
  perform from onceward.held h where h.id = any (ids) order by h.id for update;
  select string_agg(h.id::text, ' ' order by h.id) into busy from onceward.held h
    where h.id = any (ids) and h.state not in ('parked', 'dead', 'quarantined');
  if busy is not null then
    return onceward.refuse('parked skip', consumer, subject,
      'At work already, and decided by nobody: number ' || busy || '. Look again when it is done.'); end if;
  if onceward.selection_digest(ids) is distinct from expected then
    return onceward.refuse('parked skip', consumer, subject,
      'The selection has changed since it was shown.'); end if;
  answer := onceward.close_rows(of_consumer, ids, 'skipped', reason);
  perform onceward.audit_entry('parked skip', 'done', consumer, subject, reason,
    answer || jsonb_build_object('digest', encode(expected, 'hex'), 'rows', to_jsonb(ids)));
  return answer;
end $$;

create function onceward.triage_parked(consumer text, ids bigint[], named text, whose text, said text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare subject text := array_to_string(ids[1:20], ' ');
begin
  if onceward.selected_consumer(ids, consumer) is null then
    return onceward.refuse('parked classify', consumer, subject,
      'Not all of these rows are there and of this consumer.'); end if;
  insert into onceward.triage as t (held_id, label, assignee, note)
  select id, named, whose, said from unnest(ids) as id
  on conflict (held_id) do update set label = coalesce(excluded.label, t.label),
    assignee = coalesce(excluded.assignee, t.assignee), note = coalesce(excluded.note, t.note),
    at = clock_timestamp(), actor = onceward.actor();
  perform onceward.audit_entry('parked classify', 'done', consumer, subject, coalesce(said, ''),
    jsonb_build_object('label', named, 'assignee', whose, 'rows', cardinality(ids)));
  return jsonb_build_object('ok', true, 'rows', cardinality(ids));
end $$;

-- Makes work due. A claim, a wait or a delay is ended. A parked row is tried once more with all rows of its
-- key, as far as these may go, also behind quarantined ones. Of a quarantined row only the key is freed. A
-- refusal undoes what was moved before it. seen is how often the row had been claimed when it was shown: a
-- worker that took it since then is not fenced by mistake.
create function onceward.release_held(consumer text, held bigint, expected integer, reason text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare h onceward.held; of_consumer text; freed bigint[]; why text; subject text := held::text;
begin
  select c.name into of_consumer from onceward.held r join onceward.consumer c on c.id = r.consumer_id
    where r.id = held;
  if onceward.is_blank(reason) then
    return onceward.refuse('work release', of_consumer, subject, 'Say why it is released.'); end if;
  if of_consumer is null then
    return onceward.refuse('work release', consumer, subject,
      'There is no held work with number ' || held || '; it may be done by now.'); end if;
  if of_consumer is distinct from consumer then
    return onceward.refuse('work release', of_consumer, subject,
      format('Number %s is not of consumer "%s".', held, consumer)); end if;
  perform from onceward.blocked_key b
    join onceward.held r on r.consumer_id = b.consumer_id and r.order_key = b.key
    where r.id = held for update of b;
  select * into h from onceward.held r where r.id = held for update;
  if not found then
    return onceward.refuse('work release', consumer, subject,
      'There is no held work with number ' || held || '; it may be done by now.'); end if;
  if h.epoch is distinct from expected then
    return onceward.refuse('work release', of_consumer, subject,
      format('Number %s is not as it was shown: it was claimed %s times by now.', held, h.epoch)); end if;
  if h.state = 'dead' or (h.state = 'quarantined' and h.order_key is null) then
    return onceward.refuse('work release', of_consumer, subject,
      'Number ' || held || ' is ' || h.state || ': it is not safe to try it again by itself.'); end if;
  begin
    if h.state in ('parked', 'quarantined') and h.order_key is not null then
      freed := onceward.release_keys(h.consumer_id, array[h.order_key], true);
      if h.state = 'parked' and held <> all (freed) then
        select coalesce(j.why, 'waits behind a message of its key that may not go') into why
          from onceward.judge_parked(array[held], null, false) j;
      end if;
    elsif h.state = 'parked' then
      select r.why into why from onceward.release_rows(h.consumer_id, array[held], true) r;
      freed := array[held];
    else
      why := case when h.state = 'waiting' then onceward.judge_origin(h.campaign_id) end;
      -- The epoch is raised: a worker that has the row now cannot finish it.
      update onceward.held r set due_at = clock_timestamp(), lease_until = null, epoch = r.epoch + 1
        where r.id = held;
      freed := array[held];
    end if;
    if why is not null then raise exception using errcode = 'OW001', message = why; end if;
  exception when sqlstate 'OW001' then
    return onceward.refuse('work release', of_consumer, subject,
      'Number ' || held || ' was not released: ' || why || '.');
  end;
  insert into onceward.held_action (held_id, reason, action)
    select unnest(case when h.state = 'quarantined' then held || freed else freed end), reason,
      'released from ' || h.state;
  return jsonb_build_object('ok', true, 'released', cardinality(freed), 'from', h.state);
end $$;
`
