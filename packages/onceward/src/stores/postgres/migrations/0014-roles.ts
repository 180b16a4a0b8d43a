/** Rights of the group roles, as data: a later migration adds its functions with a row each, and restates nothing. */
export const roles = `
-- A function that is listed may be called by exactly these roles; one that is not, by processes alone.
create table onceward.function_right (
  function_name text collate "C" primary key,
  callers       text[] not null check (callers <@ array['run', 'operator', 'approver', 'console'])
);
insert into onceward.function_right
select unnest(names), callers from (values
  -- What all roles look with. None of them changes what it shows.
  (array['run', 'operator', 'approver', 'console'], array['actor', 'is_console', 'is_person', 'human_of', 'same_person', 'says_nothing', 'visible_text',
    'place_of', 'cause_of', 'selection_digest', 'selected_consumer', 'audit_field', 'audit_content', 'fold_parked_counts', 'seen_of',
    'campaign_rows_digest', 'campaign_complete', 'loss_digest', 'server_now', 'server_check', 'same_life',
    'risk_rank', 'is_grave', 'risk_of', 'fix_waits', 'body_of']),
  -- Acts of people, audited.
  (array['operator', 'console'], array['redrive_start', 'redrive_stage', 'redrive_stop', 'skip_parked', 'fix_parked', 'triage_parked',
    'request_deletion', 'delete_parked', 'release_held', 'act_on_effect', 'accept_server', 'separate_reader', 'rename_consumer',
    'accept_broker', 'accept_loss', 'retire_destination']),
  -- Audited, by people or by the process that does it for them.
  (array['run', 'operator', 'console'], array['create_campaign', 'plan_campaign', 'select_campaign_rows', 'steer_campaign', 'notice_server']),
  (array['approver', 'console'], array['approve', 'approve_campaign']),
  -- Parts of the above, and of the owner's commands.
  (array[]::text[], array['audit_entry', 'campaign_event_of', 'refuse', 'close_rows', 'free_keys', 'let_go', 'let_keys_go', 'create_roles', 'build_days',
    'move_to_days', 'hold_inbox', 'attach_days', 'make_day', 'grant_same', 'is_rebuilt', 'count_forgotten', 'assert_past', 'note_late', 'audit_risk', 'fix_guard', 'assert_present', 'owner_only'])
) as listed (callers, names);

create or replace function onceward.create_roles() returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
declare name text; granted record;
begin
  foreach name in array array['onceward_run', 'onceward_operator', 'onceward_approver', 'onceward_console'] loop
    begin
      if not exists (select from pg_roles where rolname = name) then execute format('create role %I nologin', name); end if;
    exception when duplicate_object or unique_violation then null; -- roles are the whole server's: another database has just made it
    end;
  end loop;
  grant usage on schema onceward to onceward_run, onceward_operator, onceward_approver, onceward_console;

  revoke all on all tables in schema onceward from onceward_operator, onceward_approver, onceward_console;
  grant select on all tables in schema onceward to onceward_operator, onceward_approver, onceward_console;
  grant select, insert, update, delete on all tables in schema onceward to onceward_run;
  revoke insert, update, delete on onceward.audit, onceward.audit_head, onceward.person, onceward.approval, onceward.lineage,
    onceward.closed_held, onceward.redrive, onceward.redrive_row, onceward.triage, onceward.migration, onceward.environment,
    onceward.function_right from onceward_run;
  revoke insert, update, delete on onceward.campaign_approval, onceward.campaign_event, onceward.campaign_step from onceward_run;
  revoke insert, update, delete on onceward.server_life, onceward.broker, onceward.reading, onceward.marker_days, onceward.late_marker from onceward_run;
  revoke update, delete on onceward.held_action, onceward.ledger_action from onceward_run;
  -- A process declares a loss and reads on behind one that was accepted. It accepts none.
  revoke insert, update, delete on onceward.gap from onceward_run;
  execute (select format('grant insert (%1$s), update (%1$s) on onceward.gap to onceward_run', string_agg(quote_ident(attname), ', '))
    from pg_attribute where attrelid = 'onceward.gap'::regclass and attnum > 0 and not attisdropped and attname not like 'accepted%');

  revoke all on all functions in schema onceward from public, onceward_run, onceward_operator, onceward_approver, onceward_console;
  for granted in
    select p.oid::regprocedure as function, 'onceward_' || caller as role
    from pg_proc p left join onceward.function_right r on r.function_name = p.proname
    cross join unnest(coalesce(r.callers, array['run'])) as caller
    where p.pronamespace = 'onceward'::regnamespace
  loop
    execute format('grant execute on function %s to %I', granted.function, granted.role);
  end loop;
end $$;

-- Rights that were given before go at once, where this database gave any. Roles are the whole server's, and their existence says nothing.
do $do$ begin
  if exists (select from pg_catalog.pg_namespace n, aclexplode(n.nspacl) a join pg_catalog.pg_roles r on r.oid = a.grantee
    where n.nspname = 'onceward' and r.rolname = 'onceward_operator') then
    perform onceward.create_roles();
  end if;
end $do$;
`
