/** At risk money and regulatory, two people together drop a tenant. */
export const tenantApproval = `
-- One person asks by the same call that another person completes. No request is completed after a day.
create table onceward.tenant_drop (
  id           bigint generated always as identity primary key,
  consumer_id  integer not null,
  tenant       text not null,
  reason       text not null,
  requested_by text not null,
  expires_at   timestamptz not null default clock_timestamp() + interval '1 day',
  completed_by text,
  constraint second_is_not_requester
    check (completed_by is null or not onceward.same_person(completed_by, requested_by))
);
-- All roles read it. Only the function below writes it: it runs as the owner, whom no policy restricts.
alter table onceward.tenant_drop enable row level security;
create policy readable on onceward.tenant_drop for select using (true);
create trigger append_only before delete or truncate on onceward.tenant_drop
  for each statement execute function onceward.audit_immutable();

-- Null: the risk asks for no second person. With ok: the answer of drop_tenant, which removes nothing. Else
-- the details of the request that this person completes. Only drop_tenant calls it, under its locks.
create function onceward.second_of_tenant_drop(ids integer[], of_consumer text, of_tenant text, because text)
returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare asked onceward.tenant_drop; action constant text := 'retention drop-tenant';
begin
  if not onceward.is_high_risk(onceward.risk_of(of_consumer)) then return null; end if;
  if not onceward.is_person() then
    return onceward.refuse(action, of_consumer, of_tenant,
      session_user || ' is not registered in onceward.person.'); end if;
  select * into asked from onceward.tenant_drop d
  where d.consumer_id = any (ids) and d.tenant = of_tenant and d.completed_by is null
    and d.expires_at > clock_timestamp() order by d.id desc limit 1 for update;
  if asked.id is null then
    insert into onceward.tenant_drop (consumer_id, tenant, reason, requested_by)
    values (ids[1], of_tenant, because, onceward.actor()) returning * into asked;
    perform onceward.audit_entry(action || ' request', 'done', of_consumer, of_tenant, because,
      jsonb_build_object('until', asked.expires_at));
    return jsonb_build_object('ok', true, 'removed', null, 'until', asked.expires_at);
  end if;
  if onceward.same_person(asked.requested_by, onceward.actor()) then
    return onceward.refuse(action, of_consumer, of_tenant, 'The requester cannot approve.'); end if;
  update onceward.tenant_drop set completed_by = onceward.actor() where id = asked.id;
  return jsonb_build_object('requestedBy', asked.requested_by, 'requestedBecause', asked.reason);
end $$;
revoke execute on function onceward.second_of_tenant_drop from public;
insert into onceward.function_right (function_name, callers) values ('second_of_tenant_drop', '{}');

-- Asked last, when nothing else stands against the removal. The definition includes security definer and the
-- search path; a replaced function keeps its owner and rights.
do $$
declare
  was text := pg_get_functiondef('onceward.drop_tenant'::regproc);
  variables text := 'removed jsonb := ''{}'';';
  removal text := 'foreach of_id in array ids loop' || chr(10) || '    with gone as (';
  entry text := 'tenant, reason, removed);';
  now text := was;
begin
  if strpos(was, variables) = 0 or strpos(was, removal) = 0 or strpos(was, entry) = 0 then
    raise exception 'onceward.drop_tenant has another definition'; end if;
  now := replace(now, variables, variables || ' requested jsonb;');
  now := replace(now, removal, 'requested := onceward.second_of_tenant_drop(ids, of_consumer, tenant, reason);'
    || ' if requested ? ''ok'' then return requested; end if; ' || removal);
  now := replace(now, entry, 'tenant, reason, removed || coalesce(requested, ''{}''));');
  execute now;
end $$;

do $$ begin
  if exists (select from pg_roles where rolname = 'onceward_run')
    and has_schema_privilege('onceward_run', 'onceward', 'usage') then
    perform onceward.create_roles(); end if;
end $$;
`
