/**
 * Indexes that serve pages of messages set aside, and nothing else. They have a transaction of their own:
 * while they are built, only writes of held rows wait.
 */
export const pages = `
-- For pages in the order of ids. The planner cannot know how many rows a consumer has, and would rather walk the
-- primary key, past all rows of other consumers. That index does not have this expression.
create index held_by_page on onceward.held (consumer_id, state, (id + 0))
  where state in ('parked', 'dead', 'quarantined');
create index held_by_code on onceward.held (consumer_id, code, (id + 0))
  where state in ('parked', 'dead', 'quarantined');
create index held_by_key on onceward.held (consumer_id, order_key, (id + 0))
  where state in ('parked', 'dead', 'quarantined') and order_key is not null;
`
