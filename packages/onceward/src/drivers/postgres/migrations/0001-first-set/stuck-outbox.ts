/**
 * A message that its broker always rejects blocks its key. It is shown with the number of messages behind it,
 * and an operator may drop it.
 */
export const stuckOutbox = `
-- Messages that the broker rejected at the last attempt; for a key the first one, with the number of messages
-- behind it. A retry copy is the only copy of a message to be tried again; the message of a dead letter is in
-- held.
create view onceward.outbox_stuck as
  select o.id, o.destination, o.broker, o.exchange, o.queue, o.message_id, o.key, o.created_at, o.failures,
    o.last_error,
    octet_length(o.body) as body_bytes, line.behind::integer as behind,
    case when o.headers -> 'onceward-retry' is not null then 'retry copy'
      when o.headers -> 'onceward-held-id' is not null then 'dead letter'
      else 'message' end as kind
  from (
    select f.destination, f.bucket, f.id, count(b.id) as behind
    from (
      select destination, bucket, exchange, queue, key, min(id) as id from onceward.outbox
      where failures > 0 and key is not null group by destination, bucket, exchange, queue, key) f
    left join onceward.outbox b on b.destination = f.destination and b.bucket = f.bucket
      and b.queue = f.queue and b.key = f.key
      and b.exchange is not distinct from f.exchange and b.id > f.id
    group by f.destination, f.bucket, f.id
    union all
    select destination, bucket, id, 0 from onceward.outbox where failures > 0 and key is null
  ) line join onceward.outbox o using (destination, bucket, id);

-- Only messages that a broker rejected: all others are published in turn. A relay that is sending the message
-- at this moment may still have it stored.
create function onceward.drop_outbox(row_id bigint, of_message text, reason text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare o onceward.outbox; stuck record; subject text := row_id::text;
begin
  select * into o from onceward.outbox r where r.id = row_id for update;
  if not found then
    return onceward.refuse('outbox drop', null, subject,
      format('The outbox has no message %s: it was published or dropped.', row_id)); end if;
  if onceward.is_blank(reason) then return onceward.refuse('outbox drop', null, subject, 'Say why.'); end if;
  if o.message_id is distinct from of_message then
    return onceward.refuse('outbox drop', null, subject,
      format('Row %s of the outbox has another message id.', row_id)); end if;
  if o.failures = 0 then
    return onceward.refuse('outbox drop', null, subject,
      format('The broker has not refused row %s: it will be published in turn.', row_id)); end if;
  select s.kind, s.behind into stuck from onceward.outbox_stuck s where s.destination = o.destination
    and s.id = o.id;
  if not found then
    return onceward.refuse('outbox drop', null, subject,
      format('Row %s waits behind another row of its key: drop that one first.', row_id)); end if;
  delete from onceward.outbox r where r.destination = o.destination and r.bucket = o.bucket and r.id = o.id;
  perform onceward.audit_entry('outbox drop', 'done', null, subject, reason, jsonb_build_object(
    'messageId', o.message_id, 'kind', stuck.kind,
    'destination', o.destination, 'exchange', o.exchange, 'queue', o.queue, 'key', o.key,
    'writtenAt', o.created_at, 'failures', o.failures,
    'error', o.last_error, 'bodyBytes', octet_length(o.body), 'bodySha256', encode(sha256(o.body), 'hex')));
  return jsonb_build_object('ok', true, 'kind', stuck.kind, 'queue', o.queue, 'behind', stuck.behind);
end $$;
revoke execute on function onceward.drop_outbox from public;
`
