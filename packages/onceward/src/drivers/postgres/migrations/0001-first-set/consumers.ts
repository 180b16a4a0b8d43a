/** Consumers, their risk, and their runs: one run per process of a consumer. */
export const consumers = `
-- The rank of a risk, the highest risk first. A risk that is not listed is unknown, which ranks above all
-- others.
create function onceward.risk_rank(risk text) returns integer language sql immutable
return coalesce(array_position(
  array['regulatory', 'money', 'notification', 'projection', 'telemetry', 'low value'], risk), 0);

create function onceward.is_high_risk(risk text) returns boolean language sql immutable
return onceward.risk_rank(risk) < 3;

create table onceward.consumer (
  id          integer generated always as identity primary key,
  name        text collate "C" not null,
  generation  smallint not null,
  owner       text not null,
  risk        text not null,
  dedup       text not null default 'marker',
  registered_at timestamptz not null default clock_timestamp(),
  unique (name, generation)
);

-- The highest risk of all generations: a campaign of one generation may write rows that another one reads.
create function onceward.risk_of(consumer text) returns text language sql stable
return coalesce((select c.risk from onceward.consumer c where c.name = consumer
  order by onceward.risk_rank(c.risk) limit 1), 'unknown');

-- A contract that lowers its risk exempts its later campaigns from approval. The audit records the change.
create function onceward.audit_risk() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  perform onceward.audit_entry('contract risk lowered', 'done', new.name, new.generation::text, '',
    jsonb_build_object('from', old.risk, 'to', new.risk));
  return null;
end $$;
create trigger risk_lowered after update of risk on onceward.consumer for each row
  when (onceward.is_high_risk(old.risk) and not onceward.is_high_risk(new.risk))
  execute function onceward.audit_risk();

-- Only functions of the schema owner remove a row or change its identity. If a process could, rows that refer
-- to the id would get another risk without an audit row.
create function onceward.owner_only() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if current_user <> (select pg_get_userbyid(t.relowner) from pg_class t where t.oid = tg_relid) then
    raise exception 'rows of onceward.% cannot be deleted or given another identity', tg_table_name
      using errcode = 'insufficient_privilege'; end if;
  return coalesce(new, old);
end $$;
create trigger owner_deletes before delete on onceward.consumer
  for each row execute function onceward.owner_only();
create trigger owner_renames before update of id, name, generation on onceward.consumer for each row
  when ((old.id, old.name, old.generation) is distinct from (new.id, new.name, new.generation))
  execute function onceward.owner_only();

-- One process of a consumer. The process updates heartbeat_at periodically; a run without ended_at and with
-- an old heartbeat_at has crashed. Such a run is a suspect until cleared_at is set: until the messages that
-- may have crashed it are done, or one of them is found to be the cause. A consumer that halts ends its run.
-- If a message in progress may be the cause, halted_reason keeps the reason, and the run is a suspect too.
create table onceward.run (
  id              integer generated always as identity primary key,
  consumer_id     integer not null,
  instance        text not null,
  handler_version text not null,
  mode            text not null,
  -- Set when the run works for a campaign.
  campaign_id     bigint,
  deliveries_max  integer not null default 0,
  -- Destinations of published messages, by kind of broker. Runs of the same consumer without a broker address
  -- read this column.
  destinations    jsonb,
  started_at      timestamptz not null default clock_timestamp(),
  heartbeat_at        timestamptz not null default clock_timestamp(),
  -- Set while the run makes no attempts because a dependency is unavailable.
  paused_since    timestamptz,
  paused_reason  text,
  ended_at        timestamptz,
  halted_reason  text,
  cleared_at      timestamptz
);
create index run_suspect on onceward.run (consumer_id)
  where cleared_at is null and (ended_at is null or halted_reason is not null);
`
