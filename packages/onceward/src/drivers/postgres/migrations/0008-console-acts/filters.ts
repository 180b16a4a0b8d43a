/** Searches that people save under a name. */
export const filters = `
-- At most 50 for each person. They change nothing, so the audit does not have them.
create table onceward.saved_filter (
  person text collate "C" not null,
  name   text not null check (length(name) between 1 and 100),
  query  text not null check (length(query) <= 2000),
  at     timestamptz not null default clock_timestamp(),
  primary key (person, name)
);
-- Only the functions below read and write it: they run as the owner, whom no policy restricts.
alter table onceward.saved_filter enable row level security;

create function onceward.save_filter(of_name text, of_query text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare mine constant text := onceward.normalized_name(onceward.actor());
begin
  if onceward.is_blank(of_name) or length(of_name) > 100 or of_query is null or length(of_query) > 2000 then
    return jsonb_build_object('ok', false, 'why',
      'A filter has a name of at most 100 characters and a search of at most 2000.'); end if;
  perform pg_advisory_xact_lock(hashtext('onceward.saved_filter'), hashtext(mine));
  if (select count(*) from onceward.saved_filter f where f.person = mine and f.name <> of_name) >= 50 then
    return jsonb_build_object('ok', false, 'why', 'You have 50 filters. Remove one first.'); end if;
  insert into onceward.saved_filter (person, name, query) values (mine, of_name, of_query)
    on conflict (person, name) do update set query = excluded.query, at = clock_timestamp();
  return jsonb_build_object('ok', true);
end $$;

create function onceward.remove_filter(of_name text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from onceward.saved_filter f
  where f.person = onceward.normalized_name(onceward.actor()) and f.name = of_name;
  return jsonb_build_object('ok', true, 'removed', found);
end $$;

-- Searches may quote payloads, so people see only their own.
create function onceward.own_filters() returns setof onceward.saved_filter language sql stable
security definer set search_path = pg_catalog, pg_temp as $$
  select * from onceward.saved_filter f
  where f.person = onceward.normalized_name(onceward.actor()) order by f.name;
$$;
insert into onceward.function_right (function_name, callers)
select unnest(array['save_filter', 'remove_filter', 'own_filters']), '{operator,approver,console}';
revoke execute on function onceward.save_filter, onceward.remove_filter, onceward.own_filters from public;
`
