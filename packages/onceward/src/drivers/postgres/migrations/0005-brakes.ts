/** Paused event types. A pause ends by a probe of a process, or by an operator. */
export const brakes = `
create table onceward.brake (
  id              bigint generated always as identity primary key,
  consumer_id     integer not null,
  run_id          integer not null,
  message_type    text collate "C" not null,
  cause           text not null,
  -- How many messages had failed for the cause, under which version of the handler.
  messages        integer not null,
  handler_version text not null,
  engaged_at      timestamptz not null default clock_timestamp(),
  ended_at        timestamptz,
  released_by     text,
  released_reason text
);
create unique index brake_open on onceward.brake (consumer_id, message_type) where ended_at is null;

-- Ends the pause of an event type in every generation of the consumer. Its processes continue within seconds.
create function onceward.release_brake(of_consumer text, of_type text, reason text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare found_rows integer; subject text := coalesce(nullif(of_type, ''), '(no type)');
begin
  perform onceward.assert_read_committed();
  if onceward.is_blank(reason) then
    return onceward.refuse('brakes release', of_consumer, subject, 'Say why the event type may continue.'); end if;
  update onceward.brake b set ended_at = clock_timestamp(), released_by = onceward.actor(), released_reason = reason
    from onceward.consumer c
    where c.id = b.consumer_id and c.name = of_consumer and b.message_type = of_type and b.ended_at is null;
  get diagnostics found_rows = row_count;
  if found_rows = 0 then
    return onceward.refuse('brakes release', of_consumer, subject,
      format('Consumer "%s" has not paused event type "%s".', of_consumer, of_type)); end if;
  perform onceward.audit_entry('brakes release', 'done', of_consumer, subject, reason);
  return jsonb_build_object('ok', true, 'releasedBy', onceward.actor());
end $$;
insert into onceward.function_right (function_name, callers) values ('release_brake', '{operator,console}');
revoke execute on function onceward.release_brake from public;

do $$ begin
  if exists (select from pg_roles where rolname = 'onceward_run')
    and has_schema_privilege('onceward_run', 'onceward', 'usage') then
    perform onceward.create_roles(); end if;
end $$;
`
