/** Facts of a message on the rows that outlast its delivery: external effects and held work. */
export const columns = `
-- The kind of the target, and the business key of the message that requested the effect.
alter table onceward.ledger add column effect_type text collate "C", add column business_key text collate "C";
-- Written again by each update of a row, which is small beside a call.
create index ledger_of_message on onceward.ledger (consumer_name, message_id);
create index ledger_of_business_key on onceward.ledger (consumer_name, business_key)
  where business_key is not null;

-- leased_at: the beginning of the last lease, which lease_until ends.
alter table onceward.held add column producer text, add column aggregate_id text,
  add column aggregate_version text, add column leased_at timestamptz;
`
