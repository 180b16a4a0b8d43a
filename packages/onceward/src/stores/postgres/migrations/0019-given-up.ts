/** What a person gave up stays given up: a campaign leaves it out unless it names it and a second person approved that. */
export const givenUp = `
-- The campaign that took the message up after all. Of a rebuild it counts while its tables are live.
alter table onceward.closed_held add column reopened_by bigint;
create index closed_held_without_id on onceward.closed_held (consumer_id, digest) where message_id is null;

-- A person's decision that stands. What a rebuild closed has its effect, and is none.
create function onceward.is_given_up(how text, reopened_by bigint) returns boolean language sql stable
return how in ('skipped', 'deleted') and not exists (
  select from onceward.campaign c where c.id = reopened_by and (c.mode <> 'rebuild' or c.state in ('swapped', 'finished')));

-- Whatever the risk: who asks for it does not approve it. Behind campaign_guard, which judges the risk.
create function onceward.campaign_reopens() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  new.needs_approval := new.needs_approval or new.mode <> 'forensic';
  return new;
end $$;
create trigger campaign_reopens before insert on onceward.campaign for each row
  when (new.selection -> 'includingSkipped' = 'true') execute function onceward.campaign_reopens();

-- Called in the transaction of the effects, with the messages that a campaign decided. Only one that was approved to take them up can do so.
-- Other content that was given up under the same id stays given up. The row says that it was other content: the marker that said so is replaced.
create function onceward.reopen_given_up(campaign bigint, ids text[], digests bytea[]) returns integer
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare c onceward.campaign; taken text[]; because text;
begin
  select * into c from onceward.campaign k where k.id = reopen_given_up.campaign;
  if c.state is distinct from 'running' or c.mode = 'forensic' or c.selection -> 'includingSkipped' is distinct from 'true' then
    raise exception 'campaign % may not take up what people gave up', reopen_given_up.campaign using errcode = 'insufficient_privilege'; end if;
  with asked as (select * from unnest(ids, digests) as a (id, digest)),
  reopened as (
    update onceward.closed_held x set reopened_by = c.id from asked
    where x.consumer_id in (select o.id from onceward.consumer o where o.name = c.consumer_name and o.generation in (c.generation, c.live_generation))
      and (x.digest = asked.digest and (x.message_id = asked.id or x.message_id is null)
        or x.message_id = asked.id and x.record ->> 'code' is distinct from 'conflict')
      and x.reopened_by is distinct from c.id and onceward.is_given_up(x.how, x.reopened_by)
    returning asked.id)
  select array_agg(distinct r.id order by r.id) into taken from reopened r;
  if taken is null then return 0; end if;
  perform onceward.audit_entry('parked reopen', 'done', c.consumer_name, array_to_string(taken[1:20], ' '), c.reason,
    jsonb_build_object('campaign', c.id, 'mode', c.mode, 'requestedBy', c.requested_by, 'messages', to_jsonb(taken)));
  return cardinality(taken);
end $$;

insert into onceward.function_right values
  ('is_given_up', array['run', 'operator', 'approver', 'console']);

-- A marker says that a person decided: the word of a handler that ignores is another.
do $do$
declare plain constant text := $$set status = 'ignored' from$$;
  body text := pg_catalog.pg_get_functiondef('onceward.close_rows(integer, bigint[], text, text)'::regprocedure);
begin
  if position(plain in body) = 0 then raise exception 'close_rows is not as it was'; end if;
  execute replace(body, plain,
    $$set status = 'ignored', because = left(close_rows.way || ' by ' || onceward.actor() || ': ' || close_rows.because, 200) from$$);
end $do$;
do $do$ begin
  if exists (select from pg_catalog.pg_namespace n, aclexplode(n.nspacl) a join pg_catalog.pg_roles r on r.oid = a.grantee
    where n.nspname = 'onceward' and r.rolname = 'onceward_operator') then
    perform onceward.create_roles();
  end if;
end $do$;
revoke execute on function onceward.reopen_given_up, onceward.campaign_reopens from public;
`
