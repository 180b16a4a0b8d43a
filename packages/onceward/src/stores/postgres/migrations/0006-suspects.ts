/**
 * A run says now and then that it lives. One that fell silent without an end died, and is asked about until it is cleared: until the messages it
 * may have died over are through, or one of them is found. Runs of before never said that they live, so nothing is made of their silence.
 */
export const suspects = `
alter table onceward.run
  add column deliveries_max integer not null default 0,
  add column heard_at timestamptz not null default clock_timestamp(),
  add column cleared_at timestamptz;
update onceward.run set cleared_at = clock_timestamp() where ended_at is null;
create index run_open on onceward.run (consumer_id) where ended_at is null and cleared_at is null;
`
