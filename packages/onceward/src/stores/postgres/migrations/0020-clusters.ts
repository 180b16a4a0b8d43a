/**
 * What tells one RabbitMQ cluster from another. Without a set cluster name each node announces a name of its own, and two clusters may announce
 * the same one; a mark in the virtual host, which every node knows, decides. And a look at who reads a place that claims nothing.
 */
export const clusters = `
-- Every name under which a cluster was reached. cluster is the first of them; a second cluster of the same name has a number behind it.
create table onceward.cluster_name (
  kind      text collate "C" not null,
  cluster   text collate "C" not null,
  announced text collate "C" not null,
  first_at  timestamptz not null default clock_timestamp(),
  primary key (kind, cluster, announced)
);

-- mark is the name of an exchange in the virtual host; null where the user might not declare one.
create table onceward.cluster_mark (
  kind         text collate "C" not null,
  cluster      text collate "C" not null,
  virtual_host text collate "C" not null,
  mark         text,
  first_at     timestamptz not null default clock_timestamp(),
  primary key (kind, cluster, virtual_host)
);

-- Destinations that share a name are on one cluster: the one that was met first gives it its name.
do $$
declare met record; of_cluster text; others text[];
begin
  for met in select * from onceward.destination_cluster c where c.kind = 'rabbitmq' order by c.first_at, c.cluster loop
    others := array(select distinct n.cluster from onceward.cluster_name n where n.kind = met.kind and (n.announced = met.cluster
      or exists (select from onceward.destination_cluster d where d.destination = met.destination and d.kind = n.kind and d.cluster = n.announced)));
    of_cluster := coalesce((select n.cluster from onceward.cluster_name n where n.kind = met.kind and n.cluster = any (others)
      order by n.first_at limit 1), met.cluster);
    insert into onceward.cluster_name (kind, cluster, announced, first_at) values (met.kind, of_cluster, met.cluster, met.first_at)
    on conflict do nothing;
    insert into onceward.cluster_name (kind, cluster, announced, first_at)
    select n.kind, of_cluster, n.announced, n.first_at from onceward.cluster_name n where n.kind = met.kind and n.cluster = any (others)
    on conflict do nothing;
    delete from onceward.cluster_name n where n.kind = met.kind and n.cluster = any (others) and n.cluster <> of_cluster;
  end loop;
  insert into onceward.cluster_mark (kind, cluster, virtual_host, mark)
  select distinct on (n.kind, n.cluster, d.virtual_host) n.kind, n.cluster, d.virtual_host, d.mark
  from onceward.destination d join onceward.destination_cluster c on c.destination = d.name
  join onceward.cluster_name n on n.kind = c.kind and n.announced = c.cluster
  order by n.kind, n.cluster, d.virtual_host, d.mark nulls last;
  insert into onceward.destination_cluster (kind, virtual_host, cluster, destination)
  select distinct on (c.kind, c.virtual_host, n.cluster) c.kind, c.virtual_host, n.cluster, c.destination
  from onceward.destination_cluster c join onceward.cluster_name n on n.kind = c.kind and n.announced = c.cluster
  order by c.kind, c.virtual_host, n.cluster, c.first_at on conflict do nothing;
  -- A cluster that feeds this database was accepted under the name of one node.
  insert into onceward.broker (kind, cluster, first_at, added_by, because)
  select distinct on (n.cluster) b.kind, n.cluster, b.first_at, b.added_by, b.because
  from onceward.broker b join onceward.cluster_name n on n.kind = b.kind and n.announced = b.cluster
  order by n.cluster, b.first_at on conflict do nothing;
  insert into onceward.cluster_name (kind, cluster, announced, first_at)
  select b.kind, b.cluster, b.cluster, b.first_at from onceward.broker b
  where b.kind = 'rabbitmq' and not exists (select from onceward.cluster_name n where n.kind = b.kind and n.announced = b.cluster);
end $$;

-- Notes a name of a cluster, and its mark in a virtual host. False when another process has noted one since the caller looked: it looks again.
create function onceward.note_cluster(of_kind text, of_cluster text, as_announced text, of_host text, with_mark text, seen integer) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_advisory_xact_lock(hashtext('onceward.cluster'), hashtext(of_kind));
  if (select count(*) from onceward.cluster_name n where n.kind = of_kind)
    + (select count(*) from onceward.cluster_mark m where m.kind = of_kind and m.mark is not null) <> seen then return false; end if;
  insert into onceward.cluster_name (kind, cluster, announced) values (of_kind, of_cluster, as_announced) on conflict do nothing;
  insert into onceward.cluster_mark as m (kind, cluster, virtual_host, mark) values (of_kind, of_cluster, of_host, with_mark)
  on conflict (kind, cluster, virtual_host) do update set mark = coalesce(m.mark, excluded.mark);
  return true;
end $$;

-- As note_reading answers, and writes nothing: a consumer that never reached its broker has read nothing.
create function onceward.check_reading(consumer text, of_kind text, of_place text, by_reader text, of_host text,
  out other text, out last_at timestamptz)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from onceward.reading r where r.consumer_name = consumer and r.kind = of_kind and r.place = of_place
    and r.reader = by_reader and coalesce(r.virtual_host, of_host) = of_host) then return; end if;
  select r.consumer_name, r.last_at into other, check_reading.last_at from onceward.reading r
  where r.kind = of_kind and r.place = of_place and r.reader = by_reader and r.consumer_name <> consumer
    and coalesce(r.virtual_host, of_host) = of_host
  order by r.last_at desc limit 1;
end $$;

-- Processes write both tables by note_cluster alone.
do $do$
declare before constant text := $$onceward.late_marker from onceward_run;$$;
  body text := pg_catalog.pg_get_functiondef('onceward.create_roles()'::regprocedure);
begin
  if position(before in body) = 0 then raise exception 'create_roles is not as it was'; end if;
  execute replace(body, before, before || $$
  revoke insert, update, delete on onceward.cluster_name, onceward.cluster_mark from onceward_run;$$);
end $do$;
do $do$ begin
  if exists (select from pg_catalog.pg_namespace n, aclexplode(n.nspacl) a join pg_catalog.pg_roles r on r.oid = a.grantee
    where n.nspname = 'onceward' and r.rolname = 'onceward_operator') then
    perform onceward.create_roles();
  end if;
end $do$;
revoke execute on function onceward.note_cluster, onceward.check_reading from public;
`
