/** Attempts that failed, and the search for a message that kills its process. */
export const attempts = `
-- place is where in the code an attempt failed: a part of what makes two failures the same.
create table onceward.attempt (
  consumer_id   integer not null,
  message_id    text collate "C" not null,
  number        integer not null,
  run_id        integer not null,
  at            timestamptz not null default clock_timestamp(),
  failure_class text not null,
  code          text not null,
  place         text not null default '',
  error         text not null,
  primary key (consumer_id, message_id, number)
);
create index attempt_of_suspect on onceward.attempt (run_id) where code = 'process_died';

-- Messages that a run tries together because an earlier run died over one of them. A row per message is
-- written before the handlers run, and removed by what decides the message. A row of a run that died means:
-- the message may be the cause, as one of size messages.
create table onceward.suspect_group (
  consumer_id integer not null,
  message_id  text collate "C" not null,
  run_id      integer not null,
  size        integer not null,
  primary key (consumer_id, message_id, run_id)
);
`
