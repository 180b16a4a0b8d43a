/** Inbox, attempts, held work, external ledger, outbox, queue. No foreign keys on hot tables: each would cost a lookup per row. */
export const spine = `
create table onceward.consumer (
  id          integer generated always as identity primary key,
  name        text collate "C" not null,
  generation  smallint not null,
  owner       text not null,
  risk        text not null,
  dedup       text not null default 'marker',
  enrolled_at timestamptz not null default clock_timestamp(),
  unique (name, generation)
);

-- One process life of a consumer. A run without ended_at whose process is gone died uncleanly.
create table onceward.run (
  id              integer generated always as identity primary key,
  consumer_id     integer not null,
  instance        text not null,
  handler_version text not null,
  mode            text not null,
  started_at      timestamptz not null default clock_timestamp(),
  ended_at        timestamptz
);

create type onceward.marker_status as enum
  ('applied', 'ignored', 'duplicate', 'stale', 'stored', 'waiting', 'parked', 'dead', 'quarantined');

-- The marker is narrow and has one index: rows as wide as an audit record with two indexes cost about 25 %.
create table onceward.inbox (
  consumer_id integer not null,
  run_id      integer not null,
  at          timestamptz not null default now(),
  status      onceward.marker_status not null,
  message_id  text collate "C" not null,
  digest      bytea not null,
  position    text,
  primary key (consumer_id, message_id)
);

-- Apart from the markers: in one table, id-sorted batches deadlocked on business keys in 29 of 40 races.
create table onceward.business_key (
  consumer_id integer not null,
  at          timestamptz not null default now(),
  key         text collate "C" not null,
  message_id  text collate "C" not null,
  digest      bytea,
  primary key (consumer_id, key)
);

-- Who reads a partition of a log, and how far it is done as far as the store was told. The epoch fences an owner that lost it.
create table onceward.checkpoint (
  consumer_id integer not null,
  partition   text collate "C" not null,
  epoch       integer not null,
  run_id      integer not null,
  incarnation text,
  next        text,
  at          timestamptz not null default clock_timestamp(),
  primary key (consumer_id, partition)
) with (fillfactor = 50);

-- Records a log no longer had when we came for them. Reading goes on from to_next once a person has accepted the loss.
create table onceward.gap (
  id               bigint generated always as identity primary key,
  consumer_id      integer not null,
  partition        text collate "C" not null,
  from_incarnation text not null,
  from_next        text not null,
  to_incarnation   text,
  to_next          text,
  records          bigint,
  reason           text not null,
  declared_at      timestamptz not null default clock_timestamp(),
  declared_by      integer not null,
  accepted_at      timestamptz,
  accepted_by      text,
  accepted_because text,
  resumed_at       timestamptz
);
create unique index gap_once on onceward.gap (consumer_id, partition, from_incarnation, from_next)
  where resumed_at is null;

-- What a declared effect said of messages that were not simply applied: stale, a gap, a delete. One row per word.
create table onceward.note (
  consumer_id integer not null,
  message_id  text collate "C" not null,
  code        text not null,
  detail      text not null,
  at          timestamptz not null default now(),
  primary key (consumer_id, message_id, code)
);

-- Keys of a projection that are to be rebuilt from their source: facts beyond found were not applied. Done when the row is at wanted.
create table onceward.rebuild_key (
  consumer_id integer not null,
  key         text collate "C" not null,
  found       bigint,
  wanted      bigint not null,
  since       timestamptz not null default clock_timestamp(),
  primary key (consumer_id, key)
);

create table onceward.attempt (
  consumer_id   integer not null,
  message_id    text collate "C" not null,
  number        integer not null,
  run_id        integer not null,
  at            timestamptz not null default clock_timestamp(),
  failure_class text not null,
  code          text not null,
  error         text not null,
  primary key (consumer_id, message_id, number)
);

create type onceward.held_state as enum ('stored', 'waiting', 'parked', 'dead', 'quarantined');

-- Work kept here, with everything needed to go on. Bytes without an id are told apart by their digest. due_at is when a worker may take it:
-- at once, at the next try, or at the deadline of a wait (at once when it is released before); null for what only people take up. lease_until is how
-- long a worker keeps it: a column of its own, because due_at is indexed and each claim would write all indexes anew. With room left on the
-- page a claim stays on it. Rows of the same bytes are counted together only where people look at them: what is stored has its marker.
create table onceward.held (
  id             bigint generated always as identity primary key,
  consumer_id    integer not null,
  run_id         integer not null,
  state          onceward.held_state not null,
  message_id     text collate "C",
  digest         bytea not null,
  seen           integer not null default 1,
  first_at       timestamptz not null default clock_timestamp(),
  last_at        timestamptz not null default clock_timestamp(),
  reason         text not null default '',
  failure_class  text not null default '',
  code           text not null default '',
  error          text,
  attempts       integer not null default 0,
  order_key      text collate "C",
  version        bigint,
  due_at         timestamptz,
  released       boolean not null default false,
  epoch          integer not null default 0,
  lease_until    timestamptz,
  business_key   text collate "C",
  correlation_id text,
  message_type   text,
  schema_version text,
  origin         text not null,
  position       text,
  broker_key     text,
  delivery_count integer not null,
  headers        json not null,
  properties     json not null,
  body           bytea not null
) with (fillfactor = 50);
create unique index held_once on onceward.held (consumer_id, message_id, digest) nulls not distinct
  where state in ('parked', 'dead', 'quarantined');
create index held_in_order on onceward.held (consumer_id, order_key, id)
  where state in ('stored', 'parked') and order_key is not null;
create index held_waiting on onceward.held (consumer_id, order_key, version) where state = 'waiting';
create index held_due on onceward.held (consumer_id, due_at, id) where due_at is not null;

-- What people did to held work, and why.
create table onceward.held_action (
  held_id     bigint not null,
  consumer_id integer,
  at          timestamptz not null default clock_timestamp(),
  by          text not null default session_user,
  because     text not null,
  did         text not null
);

-- A key with a parked message; later messages of the key are parked behind it. Empty in good times.
create table onceward.blocked_key (
  consumer_id integer not null,
  key         text collate "C" not null,
  since       timestamptz not null default clock_timestamp(),
  primary key (consumer_id, key)
);

create type onceward.effect_state as enum
  ('pending', 'in flight', 'retryable', 'unknown', 'reconciling', 'completed', 'failed');

-- Intents of external effects. due_at is when the row may next be taken: the retry time, or the end of the lease; infinity where only
-- people go on. doubt_since is when the first call began that may have taken effect.
create table onceward.ledger (
  id                bigint generated always as identity primary key,
  consumer_name     text collate "C" not null,
  target            text collate "C" not null,
  effect_key        text collate "C" not null,
  state             onceward.effect_state not null default 'pending',
  epoch             integer not null default 0,
  attempts          integer not null default 0,
  attempts_forgiven integer not null default 0,
  due_at            timestamptz not null default clock_timestamp(),
  created_at        timestamptz not null default clock_timestamp(),
  last_attempt_at   timestamptz,
  doubt_since       timestamptz,
  completed_at      timestamptz,
  run_id            integer not null,
  message_id        text collate "C" not null,
  request_digest    bytea not null,
  content_type      text not null,
  body              bytea not null,
  response_status   integer,
  response_digest   bytea,
  response_excerpt  text,
  last_error        text,
  unique (consumer_name, target, effect_key)
);
-- Without what is completed, so that ten million of those cost nothing but their place in the unique index.
create index ledger_open on onceward.ledger (consumer_name, target, due_at) where state <> 'completed';

-- What people did to rows of the ledger, and why. Written with the change, never changed.
create table onceward.ledger_action (
  id         bigint generated always as identity primary key,
  ledger_id  bigint not null,
  at         timestamptz not null default clock_timestamp(),
  actor      text not null default session_user,
  action     text not null,
  reason     text not null,
  from_state onceward.effect_state not null,
  to_state   onceward.effect_state not null
);
create index ledger_action_by_row on onceward.ledger_action (ledger_id);

-- Messages on their way out. Rows of one key have one bucket, and a bucket has one relay at a time: see outbox_bucket.
-- A plain column, not a generated one: a replica identity with a generated column makes every delete fail once the table is published for CDC.
create table onceward.outbox (
  id          bigint generated always as identity,
  broker      text collate "C" not null,
  bucket      smallint not null,
  failures    smallint not null default 0,
  created_at  timestamptz not null default clock_timestamp(),
  exchange    text,
  queue       text not null,
  message_id  text not null,
  key         text collate "C",
  headers     json not null default '{}',
  properties  json not null default '{}',
  body        bytea not null,
  last_error  text,
  primary key (broker, bucket, id)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

-- Without a key there is no order to keep, and the rows are spread.
create function onceward.outbox_bucket_of(key text) returns smallint language sql volatile
  return case when key is null then floor(random() * 32)::smallint else (hashtext(key) & 31)::smallint end;

-- The names an outbox event router expects by default.
create view onceward.outbox_event as
  select message_id as id, queue as aggregatetype, key as aggregateid, properties ->> 'type' as type, body as payload,
    headers, created_at as "timestamp"
  from onceward.outbox;

-- A relay lives as long as its row: extending its lease is one row however many buckets it has, and whoever finds it expired removes it.
-- Ids are never used again, so a relay that was buried cannot come back under the same one.
create table onceward.relay (
  id       bigint generated always as identity primary key,
  broker   text collate "C" not null,
  instance text not null,
  until    timestamptz not null
) with (fillfactor = 50);

create table onceward.outbox_bucket (
  broker   text collate "C" not null,
  bucket   smallint not null,
  relay_id bigint,
  primary key (broker, bucket)
) with (fillfactor = 50);

create table onceward.queue (
  id         integer generated always as identity primary key,
  name       text collate "C" not null unique,
  created_at timestamptz not null default clock_timestamp()
);

-- A subscription's right to the rows it leased. Extending it is one row, however many messages it holds.
-- No message above high_id carries the lease: that bounds every search for its messages without an index.
create table onceward.queue_lease (
  id       bigint generated always as identity primary key,
  queue_id integer not null,
  epoch    integer not null default 0,
  high_id  bigint not null default 0,
  until    timestamptz not null,
  holder   text not null
) with (fillfactor = 50);

-- Each row is written once more when it is leased. Half a page left free and no index on the lease keep all of those
-- updates on their page: claim and settle cost the server 11 us a message, 19 us at fillfactor 80, where a quarter do.
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
