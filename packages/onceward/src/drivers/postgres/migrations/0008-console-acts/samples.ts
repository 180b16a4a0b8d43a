/** What each consumer did in each of the last 64 minutes, for rates without a metrics server. */
export const samples = `
-- A ring: the slot of a minute is its number modulo 64, so a consumer has at most 64 rows. Every process adds
-- what it did since it last wrote. Half of each page is free, so that an update stays on its page.
create table onceward.sample (
  consumer_id integer not null,
  slot        smallint not null check (slot between 0 and 63),
  minute      timestamptz not null,
  applied     bigint not null default 0,
  duplicates  bigint not null default 0,
  set_aside   bigint not null default 0,
  failed      bigint not null default 0,
  -- At the end of the minute. Null: unknown.
  lag         bigint,
  pending     integer,
  primary key (consumer_id, slot)
) with (fillfactor = 50);

-- What waits at the source, by partition or queue, as the process of the run last saw it.
alter table onceward.run add column lag jsonb, add column lag_at timestamptz;
`
