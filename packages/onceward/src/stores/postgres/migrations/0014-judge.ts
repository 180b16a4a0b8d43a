/** The one judgement of whether a row may go (migration 13), with the approval of its fix. */
export const judge = `
-- Of a fixed row it asks last whether its payload is approved: also where a campaign takes it that was approved for these rows.
create or replace function onceward.judge_parked(picked bigint[], taken_by bigint default null, in_order boolean default true)
returns table (id bigint, order_key text, why text) language sql stable as $$
  select p.id, h.order_key, case
    when h.id is null then 'done, or decided by somebody else'
    when h.state not in ('parked', 'dead', 'quarantined') then 'at work already'
    when m.status not in ('parked', 'dead', 'quarantined') then 'its message id is ' || m.status || ' already'
    when m.digest <> h.digest then 'its message id belongs to other content'
    when m.message_id is null and h.code = 'conflict' then 'its message id belonged to other content, of which the marker is removed'
    when k.message_id <> h.message_id then 'its business key was used by message ' || k.message_id
    when before.id is not null then 'waits behind number ' || before.id
    else coalesce(case when taken_by is null and h.campaign_id is not null then onceward.judge_origin(h.campaign_id) end,
      onceward.fix_waits(h.id))
  end as why
  from unnest(picked) as p (id)
  left join onceward.held h on h.id = p.id
  left join onceward.inbox m on m.consumer_id = h.consumer_id and m.message_id = h.message_id
  left join onceward.business_key k on k.consumer_id = h.consumer_id and k.key = h.business_key
  left join lateral (
    select e.id from onceward.held e
    where in_order and e.consumer_id = h.consumer_id and e.order_key = h.order_key and e.order_key is not null and e.id < h.id
      and e.id <> all (picked) and e.state in ('stored', 'parked') and e.state = 'parked'
    union all
    select e.id from onceward.held e
    where in_order and e.consumer_id = h.consumer_id and e.order_key = h.order_key and e.order_key is not null and e.id < h.id
      and e.id <> all (picked) and e.state = 'quarantined'
    limit 1) before on true;
$$;
`
