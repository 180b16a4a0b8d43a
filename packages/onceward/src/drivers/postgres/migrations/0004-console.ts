/** What a console refuses before an act reaches its function: the audit has these refusals too. */
export const consoleRefusals = `
-- The person lacks a role, is not listed, or asks for a consumer outside their scope. Only a console calls
-- it: another login cannot write refusals of acts that were never tried.
create function onceward.console_refused(action text, consumer text, subject text, why text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if not onceward.is_console() then
    raise exception '% is not a console', session_user using errcode = 'insufficient_privilege'; end if;
  return onceward.refuse(left('console: ' || action, 200), left(consumer, 200), left(subject, 200),
    left(why, 2000));
end $$;
insert into onceward.function_right (function_name, callers) values ('console_refused', array['console']);
revoke execute on function onceward.console_refused from public;
do $$ begin
  if exists (select from pg_roles where rolname = 'onceward_run')
    and has_schema_privilege('onceward_run', 'onceward', 'usage') then
    perform onceward.create_roles(); end if;
end $$;
`
