/**
 * Brokers that feed this database, and how RabbitMQ clusters are distinguished. Without a configured cluster
 * name each node announces its own name, and two clusters may announce the same one. A mark in the virtual
 * host, which every node has, decides. These tables are read when processes start or connect, never by a
 * batch.
 */
export const clusters = `
-- Clusters that feed this database. The first of a kind is accepted automatically; any other counts as
-- another environment until an operator accepts it.
create table onceward.broker (
  kind     text collate "C" not null,
  cluster  text collate "C" not null,
  first_at timestamptz not null default clock_timestamp(),
  added_by text not null default session_user,
  reason   text not null default 'the first of its kind',
  primary key (kind, cluster)
);

create function onceward.register_broker(of_kind text, of_cluster text) returns text[]
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare others text[];
begin
  if exists (select from onceward.broker b where b.kind = of_kind and b.cluster = of_cluster) then
    return '{}'; end if;
  perform pg_advisory_xact_lock(hashtext('onceward.broker'), hashtext(of_kind));
  others := array(select b.cluster from onceward.broker b where b.kind = of_kind order by b.first_at);
  if cardinality(others) = 0 then
    insert into onceward.broker (kind, cluster) values (of_kind, of_cluster) on conflict do nothing;
  elsif of_cluster = any (others) then others := '{}';
  end if;
  return others;
end $$;

create function onceward.accept_broker(of_kind text, of_cluster text, reason text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if onceward.is_blank(reason) then
    return onceward.refuse('brokers accept', null, of_cluster, 'Say why.'); end if;
  insert into onceward.broker (kind, cluster, added_by, reason)
    values (of_kind, of_cluster, onceward.actor(), reason) on conflict do nothing;
  if not found then
    return onceward.refuse('brokers accept', null, of_cluster, 'This cluster is already accepted.'); end if;
  perform onceward.audit_entry('brokers accept', 'done', null, of_kind || ' ' || of_cluster, reason);
  return jsonb_build_object('ok', true);
end $$;

-- Every name under which a cluster was reached. cluster is the first of them; a second cluster of the same
-- name has a number appended.
create table onceward.cluster_name (
  kind      text collate "C" not null,
  cluster   text collate "C" not null,
  announced text collate "C" not null,
  first_at  timestamptz not null default clock_timestamp(),
  primary key (kind, cluster, announced)
);

-- mark is the name of an exchange in the virtual host; null if the user was not allowed to declare one.
create table onceward.cluster_mark (
  kind         text collate "C" not null,
  cluster      text collate "C" not null,
  virtual_host text collate "C" not null,
  mark         text,
  first_at     timestamptz not null default clock_timestamp(),
  primary key (kind, cluster, virtual_host)
);

-- Records a name of a cluster, and its mark in a virtual host. False if another process has recorded one
-- since the caller looked: the caller looks again. Processes write both tables only through this function.
create function onceward.register_cluster(of_kind text, of_cluster text, as_announced text, of_host text,
  with_mark text, expected integer) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_advisory_xact_lock(hashtext('onceward.cluster'), hashtext(of_kind));
  if (select count(*) from onceward.cluster_name n where n.kind = of_kind)
    + (select count(*) from onceward.cluster_mark m where m.kind = of_kind and m.mark is not null) <> expected
  then return false; end if;
  insert into onceward.cluster_name (kind, cluster, announced) values (of_kind, of_cluster, as_announced)
    on conflict do nothing;
  insert into onceward.cluster_mark as m (kind, cluster, virtual_host, mark)
    values (of_kind, of_cluster, of_host, with_mark)
  on conflict (kind, cluster, virtual_host) do update set mark = coalesce(m.mark, excluded.mark);
  return true;
end $$;
`
