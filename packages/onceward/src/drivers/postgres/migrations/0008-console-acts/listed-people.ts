/** A console acts only for people who are listed: the database checks it, not only the console. */
export const listedPeople = `
-- Whether the person that a console names is listed, in any spelling that a reader takes for the same name.
create function onceward.acts_for_listed_person() returns boolean language sql stable
return exists (
  select from onceward.person p
  where onceward.normalized_name(p.role_name)
      = onceward.normalized_name(pg_catalog.current_setting('onceward.acting_as', true))
    and onceward.normalized_name(p.role_name) <> '');

-- From PostgreSQL 16 on, a login that creates a role is listed as its member, with neither its rights nor the
-- right to become it: the owner of the schema is no console by that.
create or replace function onceward.is_console() returns boolean language sql stable
return not exists (select from onceward.person where role_name = session_user) and exists (
  select from pg_catalog.pg_auth_members m
  join pg_catalog.pg_roles g on g.oid = m.roleid join pg_catalog.pg_roles u on u.oid = m.member
  where g.rolname = 'onceward_console' and u.rolname = session_user
    and coalesce((pg_catalog.to_jsonb(m) ->> 'inherit_option')::boolean
      or (pg_catalog.to_jsonb(m) ->> 'set_option')::boolean, true));

create or replace function onceward.is_person() returns boolean language sql stable
return exists (select from onceward.person where role_name = session_user)
  or (onceward.is_console() and onceward.acts_for_listed_person());

-- Every act writes the audit in its own transaction, so this row is where an act of a console fails. Notices
-- that a process writes are not acts of a person.
create function onceward.assert_listed() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if onceward.is_console() and not onceward.acts_for_listed_person() then
    raise exception '% is not registered in onceward.person', onceward.actor()
      using errcode = 'insufficient_privilege'; end if;
  return new;
end $$;
create trigger listed before insert on onceward.audit for each row
  when (new.outcome = 'done' and new.action not in ('restore notice', 'contract risk lowered'))
  execute function onceward.assert_listed();

insert into onceward.function_right (function_name, callers)
values ('acts_for_listed_person', '{run,operator,approver,console}');
`
