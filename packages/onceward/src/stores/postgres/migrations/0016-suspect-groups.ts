/**
 * Messages that a run tries together because another one died: a row for each, written before the handlers run and removed with what decides the
 * message. A row of a run that died says that the message may be the cause, as one of `size`.
 */
export const suspectGroups = `
create table onceward.suspect_group (
  consumer_id integer not null,
  message_id  text collate "C" not null,
  run_id      integer not null,
  size        integer not null,
  primary key (consumer_id, message_id, run_id)
);
select onceward.grant_same('suspect_group', 'onceward.attempt');
`
