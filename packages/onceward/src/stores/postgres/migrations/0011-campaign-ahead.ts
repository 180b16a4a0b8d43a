/**
 * What a campaign has decided ahead of its place. Batches in flight end in any order; the place is the first record that is not decided, and what
 * stands behind it and is decided is counted already. Empty while batches end in order.
 */
export const campaignAhead = `
alter table onceward.campaign_partition add column ahead int8multirange not null default '{}';
`
