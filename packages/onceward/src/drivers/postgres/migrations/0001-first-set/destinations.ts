/** Brokers that this database publishes to, by name. */
export const destinations = `
-- Destinations that processes of this database have reached, or that operators have declared.
create table onceward.destination (
  name         text collate "C" primary key,
  kind         text collate "C" not null,
  virtual_host text collate "C" not null default '',
  first_at     timestamptz not null default clock_timestamp()
);

-- The clusters under which a destination was reached.
create table onceward.destination_cluster (
  kind         text collate "C" not null,
  virtual_host text collate "C" not null,
  cluster      text collate "C" not null,
  destination  text collate "C" not null,
  first_at     timestamptz not null default clock_timestamp(),
  primary key (kind, virtual_host, cluster)
);

-- For writers without a broker address. With one destination of the kind, it is that one. With none yet, it
-- is the bare kind, whose rows the relay of the first destination adopts. With several, the writer has to
-- name one.
create function onceward.default_destination(of_kind text) returns text
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare names text[];
begin
  if of_kind in ('postgres', 'cdc') then return of_kind; end if;
  names := array(select d.name from onceward.destination d where d.kind = of_kind
    order by d.first_at, d.name limit 6);
  if cardinality(names) > 1 then
    raise exception
      'This database publishes to several % destinations (%). Nothing was written. '
      'Set destination in the publish target, or retire those that no longer exist: onceward destinations.',
      of_kind, array_to_string(names, ', ') using errcode = '22023';
  end if;
  return coalesce(names[1], of_kind);
end $$;

-- Moves rows for the bare kind to the only destination of that kind. With several, the rows stay and are
-- counted as unserved, and the result is null.
create function onceward.adopt_outbox(by_destination text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare adopted bigint; of_kind text;
begin
  select d.kind into of_kind from onceward.destination d where d.name = by_destination;
  if of_kind is null or exists (
    select from onceward.destination d where d.kind = of_kind and d.name <> by_destination) then
    return null; end if;
  if not exists (select from onceward.outbox o where o.destination = of_kind) then return 0; end if;
  update onceward.outbox set destination = by_destination where destination = of_kind;
  get diagnostics adopted = row_count;
  return adopted;
end $$;

-- Removes a cluster that was replaced, or a wrong name, which would otherwise always count as one of several.
-- Rows that wait for it, or for the bare kind, are redirected only by an operator, and only while no relay
-- sends them there.
create function onceward.retire_destination(of_name text, to_name text, reason text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare moved bigint; of_kind text := split_part(of_name, ':', 1); waits boolean;
begin
  if onceward.is_blank(reason) then
    return onceward.refuse('destinations retire', null, of_name, 'Say why.'); end if;
  perform pg_advisory_xact_lock(hashtext('onceward.destination'), hashtext(of_kind));
  waits := exists (select from onceward.outbox o where o.destination = of_name);
  if of_kind not in ('rabbitmq', 'kafka')
    or not waits and not exists (select from onceward.destination d where d.name = of_name) then
    return onceward.refuse('destinations retire', null, of_name,
      format('There is no destination "%s", and no message waits for it.', of_name)); end if;
  if exists (select from onceward.relay r where r.destination = of_name and r.until > clock_timestamp()) then
    return onceward.refuse('destinations retire', null, of_name,
      format('A relay is connected to "%s". Stop it first.', of_name)); end if;
  if waits and to_name is null then
    return onceward.refuse('destinations retire', null, of_name,
      'Messages wait for it. Name their new destination: --to.'); end if;
  if to_name is not null and (to_name = of_name
    or not exists (select from onceward.destination d where d.name = to_name and d.kind = of_kind)) then
    return onceward.refuse('destinations retire', null, of_name,
      format('"%s" is not another known %s destination.', to_name, of_kind)); end if;
  update onceward.outbox set destination = to_name, failures = 0, last_error = null
    where destination = of_name;
  get diagnostics moved = row_count;
  delete from onceward.destination_cluster c where c.destination = of_name;
  delete from onceward.destination d where d.name = of_name;
  delete from onceward.relay r where r.destination = of_name;
  delete from onceward.outbox_bucket b where b.destination = of_name;
  perform onceward.audit_entry('destinations retire', 'done', null, of_name, reason,
    jsonb_build_object('to', to_name, 'moved', moved));
  return jsonb_build_object('ok', true, 'moved', moved);
end $$;
`
