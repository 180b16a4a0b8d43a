/** Which messages belong to a tenant, and the removal of all rows of one. */
export const dropTenant = `
-- Declared by the processes of consumers whose contract has retention.tenants: a message id begins with its
-- tenant and this separator. A duplicate can arrive up to redelivered after its message.
create table onceward.tenancy (
  consumer_id integer primary key,
  separator   text not null,
  redelivered interval not null
);

-- Removes what is known of a tenant's messages, under every generation of the consumer. Refused while one of
-- them is unfinished, or could still be redelivered: without its marker it would be applied again. The
-- horizon moves behind the newest marker that was removed, for all tenants of the consumer.
create function onceward.drop_tenant(of_consumer text, tenant text, reason text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '5s' as $$
declare
  action constant text := 'retention drop-tenant';
  ids integer[]; separators text[]; kept interval; low text; high text; cutoff timestamptz; count bigint;
  newest timestamptz; removed jsonb := '{}'; of_id integer;
begin
  perform onceward.assert_read_committed();
  if onceward.is_blank(reason) then return onceward.refuse(action, of_consumer, tenant, 'Say why.'); end if;
  select array_agg(c.id order by c.id), array_agg(distinct t.separator) filter (where t.separator is not null),
    max(t.redelivered) into ids, separators, kept
  from onceward.consumer c left join onceward.tenancy t on t.consumer_id = c.id where c.name = of_consumer;
  if ids is null then
    return onceward.refuse(action, of_consumer, tenant, format('There is no consumer %s.', of_consumer)); end if;
  if cardinality(separators) is distinct from 1 then
    return onceward.refuse(action, of_consumer, tenant,
      'No process has declared how its message ids name a tenant (retention.tenantSeparator), or they differ.');
  end if;
  if onceward.is_blank(tenant) or strpos(tenant, separators[1]) > 0 or tenant = 'sha256' then
    return onceward.refuse(action, of_consumer, left(tenant, 100), 'This is not the name of a tenant.'); end if;
  foreach of_id in array ids loop
    if not pg_try_advisory_xact_lock(x'72657461'::integer, of_id) then
      return onceward.refuse(action, of_consumer, tenant, 'A pass of retention is running.'); end if;
  end loop;
  low := tenant || separators[1];
  high := tenant || chr(ascii(separators[1]) + 1);
  -- Rows from before a clock step may be younger than their time says.
  cutoff := clock_timestamp() - kept - coalesce((
    select sum(s.moved) from onceward.clock_step s where s.at > clock_timestamp() - kept), interval '0');
  -- As in a pass: a message in a queue of this database can be redelivered until it is removed.
  cutoff := least(cutoff, (
    select min(first.published_at) - interval '1 day'
    from onceward.reader r join onceward.queue q on q.name = r.source cross join lateral (
      select m.published_at from onceward.queue_message m where m.queue_id = q.id order by m.id limit 1) as first
    where r.consumer_name = of_consumer and r.kind = 'postgres'));

  select (select count(*) from onceward.held h where h.consumer_id = any (ids) and h.message_id >= low
      and h.message_id < high and (h.state in ('stored', 'waiting', 'parked') or exists (
        select from onceward.blocked_key b where b.consumer_id = h.consumer_id and b.key = h.order_key)))
    + (select count(*) from onceward.ledger l where l.consumer_name = of_consumer and l.message_id >= low
      and l.message_id < high and l.state <> 'completed')
    + (select count(*) from onceward.business_key k join onceward.held w
        on w.consumer_id = k.consumer_id and w.business_key = k.key and w.keyless
      where k.consumer_id = any (ids) and k.message_id >= low and k.message_id < high) into count;
  if count > 0 then
    return onceward.refuse(action, of_consumer, tenant,
      format('%s messages or effects of the tenant are unfinished, or others wait for them.', count)); end if;
  select count(*), max(m.at) into count, newest from onceward.inbox m
  where m.consumer_id = any (ids) and m.message_id >= low and m.message_id < high and m.at >= cutoff;
  if count > 0 then
    return onceward.refuse(action, of_consumer, tenant, format(
      '%s of its messages can still be redelivered and would be applied again. Repeat this after %s, or later.',
      count, to_char((newest + kept) at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"'))); end if;

  foreach of_id in array ids loop
    with gone as (
      delete from onceward.inbox m where m.consumer_id = of_id and m.message_id >= low and m.message_id < high
        and m.at < cutoff returning m.at)
    select count(*), max(at) into count, newest from gone;
    if count > 0 then
      perform onceward.count_purged(of_id, count, newest + interval '1 microsecond');
      removed := removed || jsonb_build_object('markers',
        coalesce((removed ->> 'markers')::bigint, 0) + count); end if;
  end loop;
  delete from onceward.held_action a using onceward.held h where h.id = a.held_id
    and h.consumer_id = any (ids) and h.message_id >= low and h.message_id < high;
  with gone as (delete from onceward.held t where t.consumer_id = any (ids) and t.message_id >= low
    and t.message_id < high and t.state in ('dead', 'quarantined') returning 1)
  select removed || jsonb_build_object('deadLetters', count(*)) into removed from gone;
  delete from onceward.fix t where t.consumer_id = any (ids) and t.message_id >= low and t.message_id < high;
  with gone as (delete from onceward.business_key t where t.consumer_id = any (ids) and t.message_id >= low
    and t.message_id < high and t.at < cutoff returning 1)
  select removed || jsonb_build_object('businessKeys', count(*)) into removed from gone;
  with gone as (delete from onceward.note t where t.consumer_id = any (ids) and t.message_id >= low
    and t.message_id < high returning 1)
  select removed || jsonb_build_object('notes', count(*)) into removed from gone;
  with gone as (delete from onceward.attempt t where t.consumer_id = any (ids) and t.message_id >= low
    and t.message_id < high returning 1)
  select removed || jsonb_build_object('attempts', count(*)) into removed from gone;
  with gone as (delete from onceward.ledger t where t.consumer_name = of_consumer and t.message_id >= low
    and t.message_id < high and t.state = 'completed' and t.completed_at < cutoff returning 1)
  select removed || jsonb_build_object('effects', count(*)) into removed from gone;
  with gone as (delete from onceward.suppressed_effect t using onceward.campaign c where c.id = t.campaign_id
    and c.consumer_name = of_consumer and t.message_id >= low and t.message_id < high returning 1)
  select removed || jsonb_build_object('suppressedEffects', count(*)) into removed from gone;
  removed := removed || jsonb_build_object('receipts', onceward.drop_receipts_of(ids, low, high));
  perform onceward.audit_entry(action, 'done', of_consumer, tenant, reason, removed);
  return jsonb_build_object('ok', true, 'removed', removed);
end $$;
revoke execute on function onceward.drop_tenant from public;
insert into onceward.function_right (function_name, callers) values ('drop_tenant', '{approver,console}');
do $$ begin
  if exists (select from pg_roles where rolname = 'onceward_run')
    and has_schema_privilege('onceward_run', 'onceward', 'usage') then
    perform onceward.create_roles(); end if;
end $$;
`
