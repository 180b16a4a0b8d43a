/** An operator sets a message aside for good reason: it is not redriven with others of its group. */
export const quarantine = `
-- Parked messages, and dead ones without an order key, become quarantined. Their keys stay blocked. The key of
-- a dead message has continued without it: quarantined, the message would block the key again.
create function onceward.quarantine_parked(consumer text, ids bigint[], expected bytea, reason text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare of_consumer integer := onceward.selected_consumer(ids, consumer); changed integer; wrong text;
  subject text := array_to_string(ids[1:20], ' ');
begin
  perform onceward.assert_read_committed();
  if onceward.is_blank(reason) then
    return onceward.refuse('parked quarantine', consumer, subject, 'Say why.'); end if;
  if of_consumer is null then
    return onceward.refuse('parked quarantine', consumer, subject,
      'Some of these rows do not exist or belong to another consumer.'); end if;
  perform from onceward.blocked_key b where b.consumer_id = of_consumer and b.key in (
    select h.order_key from onceward.held h where h.id = any (ids)) order by b.key for update;
  perform from onceward.held h where h.id = any (ids) order by h.id for update;
  select string_agg(h.id || ' is ' || h.state, ', ' order by h.id) into wrong from onceward.held h
    where h.id = any (ids) and not (h.state in ('parked', 'quarantined')
      or (h.state = 'dead' and h.order_key is null));
  if wrong is not null then
    return onceward.refuse('parked quarantine', consumer, subject,
      'Parked messages can be quarantined, and dead ones without an order key: row ' || left(wrong, 500)
        || '.'); end if;
  if onceward.selection_digest(ids) is distinct from expected then
    return onceward.refuse('parked quarantine', consumer, subject,
      'The selection has changed since it was shown.'); end if;
  with put as (
    update onceward.held h set state = 'quarantined' where h.id = any (ids) and h.state <> 'quarantined'
    returning h.id, h.message_id, h.digest),
  -- A redrive that has selected them and runs step by step leaves them too.
  left_out as (
    update onceward.redrive_row r set state = 'left', why = 'was quarantined'
    from put where r.held_id = put.id and r.state = 'selected'),
  marked as (
    update onceward.inbox i set status = 'quarantined'
    from (select of_consumer as consumer_id, put.message_id, put.digest from put offset 0) m
    where i.consumer_id = any (array[m.consumer_id]) and i.message_id = any (array[m.message_id])
      and i.digest = m.digest and i.status in ('parked', 'dead'))
  select count(*) into changed from put;
  perform onceward.audit_entry('parked quarantine', 'done', consumer, subject, reason,
    jsonb_build_object('quarantined', changed, 'digest', encode(expected, 'hex'), 'rows', to_jsonb(ids)));
  return jsonb_build_object('ok', true, 'quarantined', changed);
end $$;
insert into onceward.function_right (function_name, callers) values ('quarantine_parked', '{operator,console}');
revoke execute on function onceward.quarantine_parked from public;
`
