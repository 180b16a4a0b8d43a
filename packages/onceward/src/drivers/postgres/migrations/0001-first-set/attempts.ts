/** Failed attempts, and the search for a message that crashes its process. */
export const attempts = `
-- place is the location in the code where the attempt failed. Two failures are the same only if their places
-- are.
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

-- Messages that a run tries together because one of them may have crashed an earlier run. A row per message
-- is written before the handlers run, and removed with the outcome of the message. A row of a crashed run
-- means: the message may be the cause, as one of size messages.
create table onceward.suspect_group (
  consumer_id integer not null,
  message_id  text collate "C" not null,
  run_id      integer not null,
  size        integer not null,
  primary key (consumer_id, message_id, run_id)
);
`
