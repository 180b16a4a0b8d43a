/** The beginning of leases. Held rows have leased_at since the last migration, the ledger last_attempt_at. */
export const leases = `
alter table onceward.outbox_bucket add column leased_at timestamptz;
alter table onceward.relay add column leased_at timestamptz;
alter table onceward.relay alter column leased_at set default clock_timestamp();
alter table onceward.queue_lease add column leased_at timestamptz;
alter table onceward.queue_lease alter column leased_at set default clock_timestamp();
alter table onceward.campaign add column leased_at timestamptz;
`
