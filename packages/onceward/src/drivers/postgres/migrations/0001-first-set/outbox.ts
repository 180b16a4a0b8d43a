/** Messages to publish, and the relays that publish them. */
export const outbox = `
-- A row names its destination: the target cluster and virtual host. Relays lease buckets per destination, so
-- a relay never takes a row for a broker that it is not connected to. Rows of one key have one bucket, and a
-- bucket has one relay at a time. bucket is not a generated column: with one in the replica identity, every
-- delete fails once the table is published for CDC.
create table onceward.outbox (
  id          bigint generated always as identity,
  broker      text collate "C" not null,
  destination text collate "C" not null,
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
  primary key (destination, bucket, id)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0);

-- Rows without a key have no order, and are spread over all buckets.
create function onceward.outbox_bucket_of(key text) returns smallint language sql volatile
  return case when key is null then floor(random() * 32)::smallint else (hashtext(key) & 31)::smallint end;

-- With the column names that an outbox event router expects by default.
create view onceward.outbox_event as
  select message_id as id, queue as aggregatetype, key as aggregateid, properties ->> 'type' as type,
    body as payload, headers, created_at as "timestamp"
  from onceward.outbox;

-- A relay exists as long as its row. It extends its lease in this one row for all its buckets; a relay that
-- finds the lease expired removes the row. Ids are never reused, so a removed relay cannot return under its
-- id.
create table onceward.relay (
  id          bigint generated always as identity primary key,
  destination text collate "C" not null,
  instance    text not null,
  until       timestamptz not null
) with (fillfactor = 50);

create table onceward.outbox_bucket (
  destination text collate "C" not null,
  bucket      smallint not null,
  relay_id    bigint,
  primary key (destination, bucket)
) with (fillfactor = 50);

-- Destinations without a live relay, with up to 100,000 waiting rows counted for each. Steps through the
-- primary key from one destination to the next.
create view onceward.outbox_unserved as
  with recursive found (name) as (
    (select o.destination from onceward.outbox o order by o.destination limit 1)
    union all
    select (
      select o.destination from onceward.outbox o where o.destination > found.name
      order by o.destination limit 1)
    from found where found.name is not null
  )
  select found.name as destination, min(counted.broker) as broker, count(*)::integer as waiting,
    min(counted.created_at) as oldest_at
  from found cross join lateral (
    select o.broker, o.created_at from onceward.outbox o
    where o.destination = found.name limit 100000) counted
  where found.name <> 'cdc' and not exists (
    select from onceward.relay r where r.destination = found.name and r.until > clock_timestamp())
  group by found.name;
`
