/** Messages that are kept in the database: stored for workers, waiting, or set aside for an operator. */
export const held = `
create type onceward.held_state as enum ('stored', 'waiting', 'parked', 'dead', 'quarantined');

-- The place of a failure, and its cause. Rows with one cause are shown as one group.
create function onceward.place_of(place text, origin text, message_type text) returns text
language sql immutable
return coalesce(nullif(place, '') || ' on ', '') || coalesce(message_type || ' from ', '') || origin;
create function onceward.cause_of(failure_class text, code text, place text) returns text
language sql immutable
return left(md5(failure_class || chr(31) || code || chr(31) || place), 12);

-- A message with everything needed to process it later. Messages without an id are distinguished by their
-- digest. Half of each page is left free, so that a lease stays on its page.
create table onceward.held (
  id             bigint generated always as identity primary key,
  consumer_id    integer not null,
  run_id         integer not null,
  -- Mode and campaign of the run that held the row first. A worker that leases the row works in this mode.
  mode           text not null default 'live',
  campaign_id    bigint,
  state          onceward.held_state not null,
  message_id     text collate "C",
  digest         bytea not null,
  -- How often these bytes arrived. Counted only for rows set aside: a stored message has its marker.
  seen           integer not null default 1,
  first_at       timestamptz not null default clock_timestamp(),
  last_at        timestamptz not null default clock_timestamp(),
  reason         text not null default '',
  failure_class  text not null default '',
  code           text not null default '',
  place          text not null default '',
  error          text,
  attempts       integer not null default 0,
  order_key      text collate "C",
  version        bigint,
  -- When a worker may lease the row: at once, at the next attempt, or at the deadline of a wait (at once if
  -- the wait ends earlier). Null if only an operator can release it.
  due_at         timestamptz,
  released       boolean not null default false,
  epoch          integer not null default 0,
  -- The end of a lease. Not in due_at, which is indexed: each lease would rewrite all indexes.
  lease_until    timestamptz,
  business_key   text collate "C",
  -- The digest of the business content. A statement that writes the business key for the row writes this
  -- digest with it.
  key_digest     bytea,
  -- The row does not hold its business key, if it has one. A worker inserts the key before it applies the
  -- message.
  keyless        boolean not null default false,
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
-- Quarantined messages that block their key: the index above has only stored and parked rows.
create index held_quarantined_keys on onceward.held (consumer_id, order_key, id)
  where state = 'quarantined' and order_key is not null;
create index held_waiting on onceward.held (consumer_id, order_key, version) where state = 'waiting';
create index held_due on onceward.held (consumer_id, due_at, id) where due_at is not null;
create index held_keyless on onceward.held (consumer_id, business_key, id)
  where keyless and business_key is not null;
create index held_not_live on onceward.held (consumer_id, message_id) where mode <> 'live';
-- For operators: rows of the work queue are not in these indexes.
create index held_for_people on onceward.held (consumer_id, state, id)
  where state in ('parked', 'dead', 'quarantined');
create index held_by_cause on onceward.held
  (consumer_id, onceward.cause_of(failure_class, code, onceward.place_of(place, origin, message_type)), id)
  where state in ('parked', 'dead', 'quarantined');
create index held_by_business_key on onceward.held (consumer_id, business_key)
  where state in ('dead', 'quarantined') and business_key is not null;

-- Records that a message was set aside or waits for its business key: the held row is removed once the
-- message is done.
create function onceward.note_set_aside() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  insert into onceward.note as n (consumer_id, message_id, code, detail, at, run_id, held_id)
  values (new.consumer_id, new.message_id,
    case when new.state in ('parked', 'dead', 'quarantined') then new.state::text
      else 'waits for its business key' end,
    case when new.state in ('parked', 'dead', 'quarantined')
      then concat_ws(': ', nullif(new.code, ''), new.reason)
      else coalesce((
        select 'message ' || k.message_id || ' holds it and is not done' from onceward.business_key k
        where k.consumer_id = new.consumer_id and k.key = new.business_key), 'another message held it') end,
    clock_timestamp(), new.run_id, new.id)
  on conflict (consumer_id, message_id, code) do update
    set times = n.times + 1, last_at = excluded.at, detail = excluded.detail, run_id = excluded.run_id,
      held_id = excluded.held_id;
  return null;
end $$;
create trigger noted after insert on onceward.held for each row
  when (new.message_id is not null
    and (new.state in ('parked', 'dead', 'quarantined') or (new.keyless and new.business_key is not null)))
  execute function onceward.note_set_aside();
create trigger noted_again after update of state on onceward.held for each row
  when (new.message_id is not null
    and new.state in ('parked', 'dead', 'quarantined') and new.state <> old.state)
  execute function onceward.note_set_aside();

-- A row as jsonb and back. Headers are kept as text: json can hold values that jsonb rejects, and a producer
-- could otherwise create a row that no operator can close.
create function onceward.held_to_json(h onceward.held) returns jsonb language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
begin
  h.headers := to_json(h.headers::text);
  h.properties := to_json(h.properties::text);
  h.body := '';
  return to_jsonb(h) - 'body';
end $$;
create function onceward.held_from_json(record jsonb, body bytea) returns onceward.held
  language plpgsql stable
set search_path = pg_catalog, pg_temp as $$
declare h onceward.held := jsonb_populate_record(null::onceward.held, record);
begin
  h.headers := (h.headers #>> '{}')::json;
  h.properties := (h.properties #>> '{}')::json;
  h.body := body;
  h.lease_until := null;
  h.mode := coalesce(h.mode, 'live');
  h.keyless := coalesce(h.keyless, false);
  return h;
end $$;

-- What people did to held work, and why. A trigger sets actor and consumer and ignores the values of the
-- client. The audit has each act too.
create table onceward.held_action (
  held_id     bigint not null,
  consumer_id integer,
  at          timestamptz not null default clock_timestamp(),
  actor       text not null default session_user,
  action      text not null,
  reason      text not null
);
create index held_action_of on onceward.held_action (held_id);

create function onceward.held_action_actor() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  new.actor := onceward.actor();
  new.consumer_id := coalesce((select h.consumer_id from onceward.held h where h.id = new.held_id),
    new.consumer_id);
  return new;
end $$;
create trigger actor before insert on onceward.held_action for each row
  execute function onceward.held_action_actor();

create function onceward.audit_held_action() returns trigger language plpgsql security definer
set search_path = pg_catalog, pg_temp as $$
begin
  perform onceward.audit_entry(
    'work ' || regexp_replace(n.action, '^released from .*', 'release'), 'done', (
      select c.name from onceward.held h join onceward.consumer c on c.id = h.consumer_id
      where h.id = min(n.held_id)),
    string_agg(n.held_id::text, ' ' order by n.held_id), n.reason,
    jsonb_strip_nulls(jsonb_build_object('from', substring(n.action from '^released from (.*)'))))
  from written n group by n.action, n.reason;
  return null;
end $$;
create trigger audited after insert on onceward.held_action referencing new table as written
  for each statement execute function onceward.audit_held_action();
`
