/**
 * Functions whose body is text look names up when they run, in the session that runs them: operators and functions of a schema on its path may
 * fit better than the server's own. Those with a body of standard SQL were bound when they were made, and can still be inlined.
 */
export const searchPaths = `
do $$
declare late regprocedure;
begin
  for late in
    select p.oid from pg_catalog.pg_proc p
    where p.pronamespace = 'onceward'::regnamespace and p.prosqlbody is null
      and not exists (select from unnest(p.proconfig) as set_by (setting) where set_by.setting like 'search_path=%')
  loop
    execute format('alter function %s set search_path = pg_catalog, pg_temp', late);
  end loop;
end $$;
`
