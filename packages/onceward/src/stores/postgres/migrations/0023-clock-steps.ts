/** Forward steps of the database's clock: rows written before one are younger than their time says. */
export const clockSteps = `
-- One row for each process that saw the step: rows too many keep memory longer, and one too few would remove it early.
create table onceward.clock_step (
  id    bigint generated always as identity primary key,
  at    timestamptz not null default clock_timestamp(),
  moved interval not null check (moved > interval '0')
);

-- Roles that exist already keep what they had.
do $$ begin
  if exists (select from pg_roles where rolname = 'onceward_run')
    and has_schema_privilege('onceward_run', 'onceward', 'usage') then
    grant select, insert on onceward.clock_step to onceward_run;
  end if;
  if exists (select from pg_roles where rolname = 'onceward_operator')
    and has_schema_privilege('onceward_operator', 'onceward', 'usage') then
    grant select on onceward.clock_step to onceward_operator, onceward_approver, onceward_console;
  end if;
end $$;
`
