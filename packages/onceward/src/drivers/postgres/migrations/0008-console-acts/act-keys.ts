/** Keys of acts: an act whose answer was lost can be sent again, and happens once. */
export const actKeys = `
-- One row per act that its sender gave a key, with the answer of the act. Kept for a day.
create table onceward.act_key (
  person text collate "C" not null,
  key    text collate "C" not null,
  action text not null,
  at     timestamptz not null default clock_timestamp(),
  answer jsonb,
  primary key (person, key)
);
create index act_key_at on onceward.act_key (at);
-- Only the functions below read and write it: they run as the owner, whom no policy restricts.
alter table onceward.act_key enable row level security;

-- Called in the transaction of the act, before it. Null: the act is new. Else what was recorded under the key.
-- A second sender waits here until the transaction of the first one has ended.
create function onceward.begin_act(of_key text, of_action text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare mine constant text := onceward.normalized_name(onceward.actor()); known onceward.act_key;
begin
  if of_key is null or length(of_key) not between 8 and 100 then
    raise exception 'the key of an act has 8 to 100 characters' using errcode = 'invalid_parameter_value';
  end if;
  delete from onceward.act_key k where k.ctid = any (array(
    select o.ctid from onceward.act_key o where o.at < clock_timestamp() - interval '1 day'
    order by o.at limit 100 for update skip locked));
  insert into onceward.act_key (person, key, action) values (mine, of_key, left(of_action, 200))
    on conflict do nothing;
  if found then return null; end if;
  select * into known from onceward.act_key k where k.person = mine and k.key = of_key;
  return jsonb_build_object('action', known.action, 'at', known.at, 'answer', known.answer);
end $$;

-- Called in the same transaction, after the act.
create function onceward.end_act(of_key text, of_answer jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  update onceward.act_key k set answer = of_answer
  where k.person = onceward.normalized_name(onceward.actor()) and k.key = of_key and k.answer is null;
end $$;

insert into onceward.function_right (function_name, callers)
select unnest(array['begin_act', 'end_act']), '{operator,approver,console}';
revoke execute on function onceward.begin_act, onceward.end_act from public;
`
