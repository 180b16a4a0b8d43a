/** When messages without a timestamp were first seen, so that their age survives a restart. */
export const firstSeen = `
-- Only a few of the oldest unfinished messages of each process have a row, and only once they have been
-- unfinished for seconds. A row is removed when its message has a marker. A wrong row shows a wrong age and
-- changes nothing else.
create table onceward.first_seen (
  consumer_id integer not null,
  message_id  text collate "C" not null,
  at          timestamptz not null,
  primary key (consumer_id, message_id)
);

-- Dropping a tenant removes these rows too. The definition includes security definer and the search path; a
-- replaced function keeps its owner and rights.
do $$
declare
  was text := pg_get_functiondef('onceward.drop_tenant'::regproc);
  known text := 'delete from onceward.fix t where';
  now text := replace(was, known, 'delete from onceward.first_seen t where t.consumer_id = any (ids) '
    'and t.message_id >= low and t.message_id < high; ' || known);
begin
  if now = was then raise exception 'onceward.drop_tenant has another definition'; end if;
  execute now;
end $$;

do $$ begin
  if exists (select from pg_roles where rolname = 'onceward_run')
    and has_schema_privilege('onceward_run', 'onceward', 'usage') then
    perform onceward.create_roles(); end if;
end $$;
`
