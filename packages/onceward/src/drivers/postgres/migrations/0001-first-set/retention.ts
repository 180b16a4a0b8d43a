/** How far back the markers of each consumer reach, and what was removed. */
export const retention = `
-- Markers of messages older than purged_before may be gone. Moved in the transaction that removes the first
-- of them, and never moved back.
create table onceward.horizon (
  consumer_id   integer primary key,
  purged_before timestamptz not null,
  purged_count  bigint not null default 0,
  at            timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

-- Retention of each consumer, as its running processes declared it, and its last pass. Kept here so that it
-- can be read without the contract.
create table onceward.retention (
  consumer_id   integer not null,
  kind          text collate "C" not null,
  keep          interval not null,
  action        text not null,
  purged_count  bigint not null default 0,
  began_at      timestamptz,
  ended_at      timestamptz,
  next_at       timestamptz,
  note          text,
  primary key (consumer_id, kind)
) with (fillfactor = 50);

-- One row per consumer, kind and day on which rows were removed: all finished rows older than before.
create table onceward.purged (
  consumer_id integer not null,
  kind        text collate "C" not null,
  day         date not null default (clock_timestamp() at time zone 'UTC')::date,
  before      timestamptz not null,
  count       bigint not null,
  last_at     timestamptz not null default clock_timestamp(),
  primary key (consumer_id, kind, day)
) with (fillfactor = 50);

create function onceward.count_purged(of_consumer integer, markers bigint, cutoff timestamptz) returns void
language sql set search_path = pg_catalog, pg_temp as $$
  insert into onceward.horizon as h (consumer_id, purged_before, purged_count)
  values (of_consumer, cutoff, markers)
  on conflict (consumer_id) do update set purged_before = greatest(h.purged_before, excluded.purged_before),
    purged_count = h.purged_count + excluded.purged_count, at = clock_timestamp();
  update onceward.retention set purged_count = purged_count + markers
    where consumer_id = of_consumer and kind = 'markers';
  insert into onceward.purged as p (consumer_id, kind, count, before)
  values (of_consumer, 'markers', markers, cutoff)
  on conflict (consumer_id, kind, day) do update set count = p.count + excluded.count,
    last_at = excluded.last_at, before = greatest(p.before, excluded.before);
$$;
`
