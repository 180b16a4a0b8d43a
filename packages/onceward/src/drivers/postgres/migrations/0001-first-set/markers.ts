/**
 * Outcomes of messages, and their business keys. Hot tables, here and below, have no foreign keys: each one
 * would cost a lookup per row.
 */
export const markers = `
create type onceward.marker_status as enum
  ('applied', 'ignored', 'duplicate', 'stale', 'stored', 'waiting', 'parked', 'dead', 'quarantined');

-- The marker of a message: one row per message id and consumer. It is narrow and has one index: rows as wide
-- as an audit record with two indexes cost about 25 %.
create table onceward.inbox (
  consumer_id integer not null,
  run_id      integer not null,
  at          timestamptz not null default now(),
  status      onceward.marker_status not null,
  message_id  text collate "C" not null,
  digest      bytea not null,
  position    text,
  -- Set for ignored, stale and duplicate messages.
  reason      text,
  -- Set when the message was stored first and applied later. at is then the time of application.
  arrived_at  timestamptz,
  primary key (consumer_id, message_id)
);

-- Separate from the markers: in one table, batches sorted by id deadlocked on business keys in 29 of 40
-- races.
create table onceward.business_key (
  consumer_id integer not null,
  at          timestamptz not null default now(),
  key         text collate "C" not null,
  message_id  text collate "C" not null,
  digest      bytea,
  primary key (consumer_id, key)
);

-- Facts about messages that were not simply applied: stale, a version gap, a delete, parked, waiting. One row
-- per message and code; a repeated code increments times. held_id links the message to what people did while
-- it was held, even after the held row is gone.
create table onceward.note (
  consumer_id integer not null,
  message_id  text collate "C" not null,
  code        text not null,
  detail      text not null,
  at          timestamptz not null default now(),
  times       integer not null default 1,
  last_at     timestamptz,
  run_id      integer,
  held_id     bigint,
  primary key (consumer_id, message_id, code)
);

-- Keys of a projection that must be rebuilt from their source: events with a version above found were not
-- applied. A key is done when the row of the projection has reached version wanted.
create table onceward.rebuild_key (
  consumer_id integer not null,
  key         text collate "C" not null,
  found       bigint,
  wanted      bigint not null,
  since       timestamptz not null default clock_timestamp(),
  primary key (consumer_id, key)
);
`
