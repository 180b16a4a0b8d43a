/** Queues of the postgres source. */
export const queues = `
create table onceward.queue (
  id         integer generated always as identity primary key,
  name       text collate "C" not null unique,
  created_at timestamptz not null default clock_timestamp()
);

-- The lease of a subscription on its messages: one row to extend, for any number of messages. No message
-- above high_id carries the lease, which bounds every search for its messages without an index.
create table onceward.queue_lease (
  id       bigint generated always as identity primary key,
  queue_id integer not null,
  epoch    integer not null default 0,
  high_id  bigint not null default 0,
  until    timestamptz not null,
  holder   text not null
) with (fillfactor = 50);

-- Each row is updated once, when it is leased. Half a page left free and no index on the lease keep all of
-- those updates on their page: lease and settle cost the server 11 us a message. At fillfactor 80 a quarter
-- of the updates stay on their page, and it is 19 us.
create table onceward.queue_message (
  id           bigint generated always as identity,
  queue_id     integer not null,
  deliveries   integer not null default 0,
  lease_id     bigint,
  published_at timestamptz not null default clock_timestamp(),
  message_id   text,
  key          text collate "C",
  headers      json not null default '{}',
  properties   json not null default '{}',
  body         bytea not null,
  primary key (queue_id, id)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0);
`
