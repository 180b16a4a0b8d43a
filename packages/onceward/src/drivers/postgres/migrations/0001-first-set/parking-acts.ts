/**
 * Acts of operators on messages that were set aside. Each act is one function, which checks, changes and
 * audits in one transaction. The caller needs no right on the tables, so the rules cannot be bypassed.
 */
export const parkingActs = `
-- Closes rows. Their markers become ignored, with the person and the reason, so that a copy is a duplicate.
-- Their keys, and messages that wait for their business keys, are released if no other row holds them.
create function onceward.close_rows(of_consumer integer, ids bigint[], way text, reason text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare keys text[]; closed integer; freed bigint[]; ended text[]; enders text[];
begin
  keys := array(select distinct h.order_key from onceward.held h
    where h.id = any (ids) and h.order_key is not null order by 1);
  perform from onceward.blocked_key b where b.consumer_id = of_consumer and b.key = any (keys)
    order by b.key for update;
  -- All of them: a message that is being stored behind one at this moment is visible only after the lock on
  -- the marker.
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
      -- The id belongs to an applied or held message with other content: that message keeps the key.
      and not exists (select from onceward.inbox i where i.consumer_id = of_consumer
        and i.message_id = gone.message_id
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
      select from onceward.held h where h.consumer_id = of_consumer and h.order_key = key
        and h.order_key is not null
        and h.state in ('stored', 'parked') and h.state = 'parked' and h.code <> 'behind_parked')
    and not exists (
      select from onceward.held h where h.consumer_id = of_consumer and h.order_key = key
        and h.order_key is not null
        and h.state = 'quarantined'));
  -- The business key is passed on first. If the order key were released before, a later message could take
  -- the business key from the first one that waits, and rows would wait for higher ids.
  if ended is not null then perform onceward.end_key_waits(of_consumer, ended, enders); end if;
  freed := onceward.unblock_keys(of_consumer, keys);
  return jsonb_build_object('ok', true, 'closed', closed, 'freed', cardinality(freed));
end $$;

-- A row that a worker leased after it was shown is not skipped, and the refusal names it.
create function onceward.skip_parked(consumer text, ids bigint[], expected bytea, reason text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare of_consumer integer := onceward.selected_consumer(ids, consumer); answer jsonb; busy text;
  subject text := array_to_string(ids[1:20], ' ');
begin
  if onceward.is_blank(reason) then
    return onceward.refuse('parked skip', consumer, subject, 'Say why.'); end if;
  if of_consumer is null then
    return onceward.refuse('parked skip', consumer, subject,
      'Some of these rows do not exist or belong to another consumer.'); end if;
  perform from onceward.blocked_key b where b.consumer_id = of_consumer and b.key in (
    select h.order_key from onceward.held h where h.id = any (ids)) order by b.key for update;
  perform from onceward.held h where h.id = any (ids) order by h.id for update;
  select string_agg(h.id::text, ' ' order by h.id) into busy from onceward.held h
    where h.id = any (ids) and h.state not in ('parked', 'dead', 'quarantined');
  if busy is not null then
    return onceward.refuse('parked skip', consumer, subject,
      'Already being processed: row ' || busy || '. Nothing was skipped. Look again when it is done.');
  end if;
  if onceward.selection_digest(ids) is distinct from expected then
    return onceward.refuse('parked skip', consumer, subject,
      'The selection has changed since it was shown.'); end if;
  answer := onceward.close_rows(of_consumer, ids, 'skipped', reason);
  perform onceward.audit_entry('parked skip', 'done', consumer, subject, reason,
    answer || jsonb_build_object('digest', encode(expected, 'hex'), 'rows', to_jsonb(ids)));
  return answer;
end $$;

create function onceward.classify_parked(consumer text, ids bigint[], label text, assignee text, note text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare subject text := array_to_string(ids[1:20], ' ');
begin
  if onceward.selected_consumer(ids, consumer) is null then
    return onceward.refuse('parked classify', consumer, subject,
      'Some of these rows do not exist or belong to another consumer.'); end if;
  insert into onceward.classification as t (held_id, label, assignee, note)
  select id, classify_parked.label, classify_parked.assignee, classify_parked.note from unnest(ids) as id
  on conflict (held_id) do update set label = coalesce(excluded.label, t.label),
    assignee = coalesce(excluded.assignee, t.assignee), note = coalesce(excluded.note, t.note),
    at = clock_timestamp(), actor = onceward.actor();
  perform onceward.audit_entry('parked classify', 'done', consumer, subject, coalesce(note, ''),
    jsonb_build_object('label', label, 'assignee', assignee, 'rows', cardinality(ids)));
  return jsonb_build_object('ok', true, 'rows', cardinality(ids));
end $$;

-- Makes work due. A lease, a wait or a delay is ended. A parked row is tried once more with all rows of its
-- key that may be released, also behind quarantined ones. For a quarantined row only its key is released. A
-- refusal undoes what was moved before it. expected is the epoch when the row was shown: a worker that leased
-- it since then is not fenced by mistake.
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
      'There is no held work with id ' || held || '; it may be done by now.'); end if;
  if of_consumer is distinct from consumer then
    return onceward.refuse('work release', of_consumer, subject,
      format('Row %s does not belong to consumer "%s".', held, consumer)); end if;
  perform from onceward.blocked_key b
    join onceward.held r on r.consumer_id = b.consumer_id and r.order_key = b.key
    where r.id = held for update of b;
  select * into h from onceward.held r where r.id = held for update;
  if not found then
    return onceward.refuse('work release', consumer, subject,
      'There is no held work with id ' || held || '; it may be done by now.'); end if;
  if h.epoch is distinct from expected then
    return onceward.refuse('work release', of_consumer, subject,
      format('Row %s has changed since it was shown: it has now been leased %s times.', held,
        h.epoch)); end if;
  if h.state = 'dead' or (h.state = 'quarantined' and h.order_key is null) then
    return onceward.refuse('work release', of_consumer, subject,
      'Row ' || held || ' is ' || h.state || ': it is not safe to try it again automatically.'); end if;
  begin
    if h.state in ('parked', 'quarantined') and h.order_key is not null then
      freed := onceward.release_keys(h.consumer_id, array[h.order_key], true);
      if h.state = 'parked' and held <> all (freed) then
        select coalesce(j.why, 'waits behind a message of its key that may not be released') into why
          from onceward.judge_parked(array[held], null, false) j;
      end if;
    elsif h.state = 'parked' then
      select r.why into why from onceward.release_rows(h.consumer_id, array[held], true) r;
      freed := array[held];
    else
      why := case when h.state = 'waiting' then onceward.judge_origin(h.campaign_id) end;
      -- The epoch is raised: a worker that holds the row now cannot finish it.
      update onceward.held r set due_at = clock_timestamp(), lease_until = null, epoch = r.epoch + 1
        where r.id = held;
      freed := array[held];
    end if;
    if why is not null then raise exception using errcode = 'OW001', message = why; end if;
  exception when sqlstate 'OW001' then
    return onceward.refuse('work release', of_consumer, subject,
      'Row ' || held || ' was not released: ' || why || '.');
  end;
  insert into onceward.held_action (held_id, reason, action)
    select unnest(case when h.state = 'quarantined' then held || freed else freed end), reason,
      'released from ' || h.state;
  return jsonb_build_object('ok', true, 'released', cardinality(freed), 'from', h.state);
end $$;
`
