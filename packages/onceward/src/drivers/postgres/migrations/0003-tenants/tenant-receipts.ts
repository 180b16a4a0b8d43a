/** A row of receipts has the messages of a whole batch, and so of several tenants. */
export const tenantReceipts = `
-- Removes the messages with ids in [low, high) from the receipts of these consumers: the row if it has no
-- others, else its part of each column. Only drop_tenant calls it.
create function onceward.drop_receipts_of(consumers integer[], low text, high text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare r record; removed bigint := 0;
begin
  for r in
    select t.tableoid::regclass as part, t.ctid as place, t.count, others.n,
      octet_length(t.digests) / t.count as width
    from onceward.receipt t cross join lateral (
      select coalesce(array_agg(i.n order by i.n), '{}') as n
      from json_array_elements_text(t.facts -> 'id') with ordinality as i (id, n)
      where not (i.id collate "C" >= low and i.id collate "C" < high)) as others
    where t.consumer_id = any (consumers) and cardinality(others.n) < t.count
  loop
    removed := removed + r.count - cardinality(r.n);
    if r.n = '{}' then
      execute format('delete from %s where ctid = $1', r.part) using r.place;
      continue;
    end if;
    execute format($q$
      update %s t set count = cardinality($2), facts = (
          select json_object_agg(f.key, case when json_typeof(f.value) <> 'array' then f.value
            else (select json_agg(f.value -> (k - 1)::integer order by k) from unnest($2) as k) end)
          from json_each(t.facts) as f),
        digests = (select string_agg(substring(t.digests from (k - 1)::integer * $3 + 1 for $3), '' order by k)
          from unnest($2) as k),
        payloads = (select string_agg(substring(t.payloads from b.first::integer for b.length), '' order by b.n)
          from (select n, length::integer, 1 + coalesce(sum(length::integer)
              over (order by n rows between unbounded preceding and 1 preceding), 0) as first
            from json_array_elements_text(t.facts -> 'bytes') with ordinality as e (length, n)) as b
          where b.n = any ($2)),
        id_hashes = case when t.id_hashes is not null then array(
          select t.id_hashes[k] from unnest($2) as k order by k) end
      where ctid = $1 $q$, r.part) using r.place, r.n, r.width;
  end loop;
  return removed;
end $$;
revoke execute on function onceward.drop_receipts_of from public;
insert into onceward.function_right (function_name, callers) values ('drop_receipts_of', '{}');
`
