/** How far the memory of each consumer reaches back, and what removes the rest of it. */
export const retention = `
-- Markers of messages made before purged_before may be gone. Moved in the transaction that removes the first of them, never back.
create table onceward.horizon (
  consumer_id   integer primary key,
  purged_before timestamptz not null,
  purged_count  bigint not null default 0,
  at            timestamptz not null default clock_timestamp()
) with (fillfactor = 50);

-- What each consumer keeps, as its running processes declared it, and when it was last gone through. Kept here so that whoever looks at the
-- database needs no contract.
create table onceward.retention (
  consumer_id   integer not null,
  kind          text collate "C" not null,
  keep          interval not null,
  action        text not null,
  purged_count  bigint not null default 0,
  began_at      timestamptz,
  ended_at      timestamptz,
  next_at       timestamptz,
  held_back_to  timestamptz,
  note          text,
  primary key (consumer_id, kind)
) with (fillfactor = 50);
`
