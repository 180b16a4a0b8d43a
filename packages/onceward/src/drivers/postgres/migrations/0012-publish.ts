/** For producers in any language: a queue is published to by one statement, inside their own transaction. */
export const publishFunctions = `
-- Adds a message to a queue, with the bytes of the body unchanged. Returns its number in the queue.
create function onceward.publish_bytes(queue_name text, body bytea, message_id text default null,
  key text default null, headers json default '{}') returns bigint language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare number bigint;
begin
  insert into onceward.queue_message (queue_id, message_id, key, headers, body)
  select q.id, publish_bytes.message_id, publish_bytes.key, publish_bytes.headers, publish_bytes.body
  from onceward.queue q where q.name = queue_name
  returning id into number;
  if number is null then
    raise exception 'Queue % does not exist. Nothing was published.', queue_name using errcode = 'undefined_object'; end if;
  return number;
end $$;

-- The same for text such as JSON, in UTF-8.
create function onceward.publish(queue_name text, body text, message_id text default null,
  key text default null, headers json default '{}') returns bigint language sql
set search_path = pg_catalog, pg_temp
return onceward.publish_bytes(queue_name, convert_to(body, 'UTF8'), message_id, key, headers);

do $$ begin
  if exists (select from pg_roles where rolname = 'onceward_run')
    and has_schema_privilege('onceward_run', 'onceward', 'usage') then
    perform onceward.create_roles(); end if;
end $$;
`
