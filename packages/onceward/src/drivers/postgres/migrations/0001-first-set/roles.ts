/** Rights of the group roles, as data: a later migration adds a row per function, and repeats nothing. */
export const roles = `
-- A listed function may be called by exactly these roles; any other function, only by processes (run).
create table onceward.function_right (
  function_name text collate "C" primary key,
  callers       text[] not null check (callers <@ array['run', 'operator', 'approver', 'console'])
);
insert into onceward.function_right
select unnest(names), callers from (values
  -- Read-only functions for all roles.
  (array['run', 'operator', 'approver', 'console'], array[
    'actor', 'is_console', 'is_person', 'normalized_name', 'same_person', 'is_blank', 'visible_text',
    'place_of', 'cause_of', 'selection_digest', 'selected_consumer', 'audit_field', 'audit_content',
    'fold_parked_counts', 'row_version', 'campaign_rows_digest', 'campaign_complete', 'loss_digest',
    'server_now', 'server_check', 'same_incarnation', 'risk_rank', 'is_high_risk', 'risk_of', 'fix_waits',
    'body_of', 'is_given_up', 'other_generations']),
  -- Acts of operators, audited.
  (array['operator', 'console'], array[
    'redrive_start', 'redrive_stage', 'redrive_stop', 'skip_parked', 'fix_parked', 'classify_parked',
    'request_deletion', 'delete_parked', 'release_held', 'act_on_effect', 'accept_incarnation',
    'separate_reader', 'rename_consumer', 'accept_broker', 'accept_loss', 'retire_destination',
    'drop_outbox']),
  -- Audited; called by operators or by a process on their behalf.
  (array['run', 'operator', 'console'], array[
    'create_campaign', 'plan_campaign', 'select_campaign_rows', 'steer_campaign', 'record_incarnation']),
  (array['approver', 'console'], array[
    'approve', 'approve_campaign']),
  -- Internal functions of the above, and of commands of the owner.
  (array[]::text[], array[
    'audit_entry', 'campaign_event_of', 'refuse', 'close_rows', 'unblock_keys', 'release_rows',
    'release_keys',
    'create_roles', 'build_days', 'move_to_days', 'lock_inbox', 'attach_days', 'make_day', 'copy_grants',
    'has_open_rebuild', 'count_purged', 'assert_day_expired', 'record_late_marker', 'audit_risk', 'fix_guard',
    'assert_read_committed', 'owner_only'])
) as listed (callers, names);

-- Group roles with minimal rights: for processes, for operators, for approvers, and for a console that may
-- name its users. Called by the owner ("onceward migrate --roles"), who needs the right to create roles. A
-- repeated call resets all rights.
create function onceward.create_roles() returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare name text; granted record;
begin
  foreach name in array
    array['onceward_run', 'onceward_operator', 'onceward_approver', 'onceward_console'] loop
    begin
      if not exists (select from pg_roles where rolname = name) then
        execute format('create role %I nologin', name); end if;
    -- Roles are shared by the whole server: another database has just created it.
    exception when duplicate_object or unique_violation then null;
    end;
  end loop;
  grant usage on schema onceward to onceward_run, onceward_operator, onceward_approver, onceward_console;

  revoke all on all tables in schema onceward from onceward_operator, onceward_approver, onceward_console;
  grant select on all tables in schema onceward to onceward_operator, onceward_approver, onceward_console;
  grant select, insert, update, delete on all tables in schema onceward to onceward_run;
  revoke insert, update, delete on onceward.audit, onceward.audit_head, onceward.person, onceward.approval,
    onceward.fix, onceward.closed_held, onceward.redrive, onceward.redrive_row, onceward.classification,
    onceward.migration, onceward.environment, onceward.function_right from onceward_run;
  revoke insert, update, delete on onceward.campaign_approval, onceward.campaign_event, onceward.campaign_step
    from onceward_run;
  revoke insert, update, delete on onceward.server_incarnation, onceward.broker, onceward.reader,
    onceward.marker_days, onceward.late_marker from onceward_run;
  revoke insert, update, delete on onceward.cluster_name, onceward.cluster_mark from onceward_run;
  revoke update, delete on onceward.held_action, onceward.ledger_action, onceward.clock_step
    from onceward_run;
  -- A process declares losses and reads past accepted ones. It may not accept one.
  revoke insert, update, delete on onceward.loss from onceward_run;
  execute (select format('grant insert (%1$s), update (%1$s) on onceward.loss to onceward_run',
    string_agg(quote_ident(attname), ', '))
    from pg_attribute where attrelid = 'onceward.loss'::regclass and attnum > 0 and not attisdropped
      and attname not like 'accepted%');

  revoke all on all functions in schema onceward
    from public, onceward_run, onceward_operator, onceward_approver, onceward_console;
  for granted in
    select p.oid::regprocedure as function, 'onceward_' || caller as role
    from pg_proc p left join onceward.function_right r on r.function_name = p.proname
    cross join unnest(coalesce(r.callers, array['run'])) as caller
    where p.pronamespace = 'onceward'::regnamespace
  loop
    execute format('grant execute on function %s to %I', granted.function, granted.role);
  end loop;
end $$;

-- Until create_roles is called, only the owner may call these.
revoke execute on function
  onceward.audit_entry, onceward.refuse, onceward.campaign_event_of, onceward.unblock_keys,
  onceward.close_rows, onceward.end_key_waits, onceward.act_on_effect, onceward.approve,
  onceward.accept_loss, onceward.accept_incarnation, onceward.record_incarnation, onceward.last_heartbeat,
  onceward.separate_reader, onceward.rename_consumer, onceward.check_reader, onceward.accept_broker,
  onceward.register_cluster, onceward.retire_destination, onceward.create_campaign, onceward.plan_campaign,
  onceward.select_campaign_rows, onceward.steer_campaign, onceward.campaign_reopens,
  onceward.reopen_given_up, onceward.make_days, onceward.seal_day, onceward.drop_day,
  onceward.assert_day_expired,
  onceward.record_late_marker, onceward.make_day, onceward.build_days, onceward.move_to_days,
  onceward.lock_inbox,
  onceward.attach_days, onceward.copy_grants, onceward.has_open_rebuild, onceward.count_purged,
  onceward.create_roles
from public;
`
