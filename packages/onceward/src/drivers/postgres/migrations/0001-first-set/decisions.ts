/** Decisions of operators about messages that were set aside: labels, fixes, and messages given up. */
export const decisions = `
-- A label for a row, and the person it is assigned to.
create table onceward.classification (
  held_id  bigint primary key,
  label    text,
  assignee text,
  note     text,
  at       timestamptz not null default clock_timestamp(),
  actor    text not null default onceward.actor()
);
create index classification_assigned on onceward.classification (assignee) where assignee is not null;

-- One row per fix, with the previous content. The held row keeps the digest that the message arrived with, so
-- its marker still protects it; both digests are here.
create table onceward.fix (
  id             bigint generated always as identity primary key,
  held_id        bigint not null,
  consumer_id    integer not null,
  message_id     text collate "C" not null,
  at             timestamptz not null default clock_timestamp(),
  actor          text not null default onceward.actor(),
  kind           text not null check (kind in ('payload', 'state')),
  reason         text not null,
  digest_before  bytea not null,
  digest_after   bytea not null,
  body_before    bytea
);
create index fix_by_message on onceward.fix (consumer_id, message_id);
create index fix_by_row on onceward.fix (held_id);

-- Rows that an operator closed without an effect (skipped, deleted), and rows whose effect is in the tables
-- that a rebuild swapped in (rebuilt). A deleted row keeps its digest and record, but not its bytes.
create table onceward.closed_held (
  held_id     bigint primary key,
  consumer_id integer not null,
  message_id  text collate "C",
  digest      bytea not null,
  closed_as   text not null check (closed_as in ('skipped', 'deleted', 'rebuilt')),
  at          timestamptz not null default clock_timestamp(),
  actor       text not null default onceward.actor(),
  reason      text not null,
  -- The campaign that applied the message after all. A rebuild counts while its tables are live.
  reopened_by bigint,
  record      jsonb not null,
  body        bytea
);
create index closed_held_of on onceward.closed_held (consumer_id, held_id);
create index closed_held_by_message on onceward.closed_held (consumer_id, message_id)
  where message_id is not null;
create index closed_held_without_id on onceward.closed_held (consumer_id, digest) where message_id is null;
`
