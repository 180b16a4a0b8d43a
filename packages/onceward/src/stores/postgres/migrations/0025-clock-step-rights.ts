/**
 * Processes add to onceward.clock_step and change nothing in it. create_roles grants all rights on all tables and takes back what it lists, so
 * every call of it after migration 23 had given update and delete: a process could shorten the memory that a step of the clock keeps.
 */
export const clockStepRights = `
do $do$
declare before constant text := $$onceward.held_action, onceward.ledger_action from onceward_run;$$;
  body text := pg_catalog.pg_get_functiondef('onceward.create_roles()'::regprocedure);
begin
  if position(before in body) = 0 then raise exception 'create_roles is not as it was'; end if;
  execute replace(body, before, $$onceward.held_action, onceward.ledger_action, onceward.clock_step from onceward_run;$$);
end $do$;
do $do$ begin
  if exists (select from pg_catalog.pg_namespace n, aclexplode(n.nspacl) a join pg_catalog.pg_roles r on r.oid = a.grantee
    where n.nspname = 'onceward' and r.rolname = 'onceward_operator') then
    perform onceward.create_roles();
  end if;
end $do$;
`
