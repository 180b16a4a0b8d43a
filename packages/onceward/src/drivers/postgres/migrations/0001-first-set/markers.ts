/**
 * What was decided about each message, and on which business keys. Hot tables, here and below, have no
 * foreign keys: each would cost a lookup per row.
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
  -- Why, of markers that are ignored, stale or a duplicate.
  reason     text,
  -- Of a message that was stored first and applied later: when it came. at is when it was applied.
  arrived_at  timestamptz,
  primary key (consumer_id, message_id)
);

-- A table of its own: in one table with the markers, batches sorted by id deadlocked on business keys in 29
-- of 40 races.
create table onceward.business_key (
  consumer_id integer not null,
  at          timestamptz not null default now(),
  key         text collate "C" not null,
  message_id  text collate "C" not null,
  digest      bytea,
  primary key (consumer_id, key)
);

-- What is known of messages that were not simply applied: stale, a gap, a delete, parked, a wait. One row per
-- message and code; the same code again adds to times. held_id leads from the message to what people did to
-- it while it was held, also when that row is gone.
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

-- Keys of a projection that have to be rebuilt from their source: facts of a version above found were not
-- applied. Done when the projection's row is at version wanted.
create table onceward.rebuild_key (
  consumer_id integer not null,
  key         text collate "C" not null,
  found       bigint,
  wanted      bigint not null,
  since       timestamptz not null default clock_timestamp(),
  primary key (consumer_id, key)
);
`
