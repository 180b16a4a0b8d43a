/** Numbers of messages set aside, by cause. */
export const parkedCounts = `
-- The sum of delta is the count. Each change inserts a row, and rows are folded occasionally: with counters,
-- two batches that park would wait for each other.
create table onceward.parked_count (
  consumer_id   integer not null,
  state         onceward.held_state not null,
  failure_class text not null,
  code          text not null,
  place         text not null,
  delta         bigint not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0);

create function onceward.fold_parked_counts(rows_max integer) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare folded integer;
begin
  if not pg_try_advisory_xact_lock(hashtext('onceward.parked_count')) then return 0; end if;
  with gone as (
    delete from onceward.parked_count
      where ctid = any (array(select ctid from onceward.parked_count limit rows_max)) returning *),
  kept as (
    insert into onceward.parked_count
    select consumer_id, state, failure_class, code, place, sum(delta)
      from gone group by 1, 2, 3, 4, 5 having sum(delta) <> 0)
  select count(*) into folded from gone;
  return folded;
end $$;

create function onceward.count_parked() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op <> 'INSERT' and old.state in ('parked', 'dead', 'quarantined') then
    insert into onceward.parked_count
    values (old.consumer_id, old.state, old.failure_class, old.code,
      onceward.place_of(old.place, old.origin, old.message_type), -1);
  end if;
  if tg_op <> 'DELETE' and new.state in ('parked', 'dead', 'quarantined') then
    insert into onceward.parked_count
    values (new.consumer_id, new.state, new.failure_class, new.code,
      onceward.place_of(new.place, new.origin, new.message_type), 1);
    if random() < 0.004 then perform onceward.fold_parked_counts(1000); end if;
  end if;
  return null;
end $$;
create trigger counted after insert on onceward.held for each row
  when (new.state in ('parked', 'dead', 'quarantined')) execute function onceward.count_parked();
create trigger recounted after update of state, failure_class, code, place on onceward.held for each row
  when (old.state in ('parked', 'dead', 'quarantined') or new.state in ('parked', 'dead', 'quarantined'))
  execute function onceward.count_parked();
create trigger uncounted after delete on onceward.held for each row
  when (old.state in ('parked', 'dead', 'quarantined')) execute function onceward.count_parked();
`
