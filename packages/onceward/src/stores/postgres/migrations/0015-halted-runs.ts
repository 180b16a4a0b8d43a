/**
 * A consumer that halts ends its run: nothing of it is open any more. Where what it had in hand may be why it halted, the reason is kept, and it is
 * asked about until it is cleared, as after a death. A run that ends otherwise takes back what it began with suspects.
 */
export const haltedRuns = `
alter table onceward.run add column halted_because text;
create index run_suspect on onceward.run (consumer_id)
  where cleared_at is null and (ended_at is null or halted_because is not null);
drop index onceward.run_open;
create index attempt_of_suspect on onceward.attempt (run_id) where code = 'process_died';
`
