/**
 * A declared loss whose records turned out to be there is withdrawn: closed like one that was read past (resumed_at), with the reason why it
 * was none. A state of its own beside resumed_at was rejected: every reader of open losses would have to know it.
 */
export const withdrawnLosses = `
-- declared_at moves with each declaration; the age of records is compared with the first one.
alter table onceward.gap add column withdrawn_because text,
  add column first_declared_at timestamptz not null default clock_timestamp();
update onceward.gap set first_declared_at = declared_at;
`
