/**
 * What a later question needs and nothing kept so far: why a message came to nothing, when stored work first arrived, what was said of it while it was
 * set aside, and on which day memory was removed. Nothing here is written for a message that simply got through.
 */
export const evidence = `
-- because: of markers that are ignored, stale or a duplicate. arrived_at: of work that was stored first and applied later; at is then the latter.
alter table onceward.inbox
  add column because    text,
  add column arrived_at timestamptz;

-- One row per word stays true: said again, it counts. The row it was held under leads to what people did to it.
alter table onceward.note
  add column times   integer not null default 1,
  add column last_at timestamptz,
  add column run_id  integer,
  add column held_id bigint;

create function onceward.note_set_aside() returns trigger language plpgsql as $$
begin
  insert into onceward.note as n (consumer_id, message_id, code, detail, at, run_id, held_id)
  values (new.consumer_id, new.message_id, new.state::text, concat_ws(': ', nullif(new.code, ''), new.reason), clock_timestamp(), new.run_id,
    new.id)
  on conflict (consumer_id, message_id, code) do update
    set times = n.times + 1, last_at = excluded.at, detail = excluded.detail, run_id = excluded.run_id, held_id = excluded.held_id;
  return null;
end $$;
create trigger noted after insert on onceward.held for each row
  when (new.message_id is not null and new.state in ('parked', 'dead', 'quarantined')) execute function onceward.note_set_aside();
create trigger noted_again after update of state on onceward.held for each row
  when (new.message_id is not null and new.state in ('parked', 'dead', 'quarantined') and new.state <> old.state)
  execute function onceward.note_set_aside();

-- One row per consumer, kind and day on which something was removed: everything finished that was older than before.
create table onceward.purged (
  consumer_id integer not null,
  kind        text collate "C" not null,
  day         date not null default (clock_timestamp() at time zone 'UTC')::date,
  before      timestamptz not null,
  count       bigint not null,
  last_at     timestamptz not null default clock_timestamp(),
  primary key (consumer_id, kind, day)
) with (fillfactor = 50);

-- What people did, found from the message once its row is gone.
create index redrive_row_by_message on onceward.redrive_row (message_id) where message_id is not null;
create index closed_held_by_message on onceward.closed_held (consumer_id, message_id) where message_id is not null;
create index held_by_business_key on onceward.held (consumer_id, business_key)
  where state in ('dead', 'quarantined') and business_key is not null;
create index would_have_by_message on onceward.would_have (message_id);
`
