/** Messages that were parked because the registry did not know their schema. */
export const unknownSchemas = `
-- Releases parked messages whose schema has become known. Processes call this: it releases only rows that were
-- parked for this one reason. Operators redrive them.
create function onceward.release_unknown_schemas(of_consumer text, ids bigint[], reason text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare of_id integer; picked bigint[]; gone bigint[]; keys text[];
begin
  perform onceward.assert_read_committed();
  select h.consumer_id, array_agg(h.id) into of_id, picked
    from onceward.held h join onceward.consumer c on c.id = h.consumer_id
    where h.id = any (ids) and c.name = of_consumer and h.state = 'parked' and h.code = 'unknown_schema'
    group by h.consumer_id order by h.consumer_id limit 1;
  if picked is null then return jsonb_build_object('ok', true, 'released', 0); end if;
  select coalesce(array_agg(r.id) filter (where r.why is null), '{}') into gone
    from onceward.release_rows(of_id, picked, true) r;
  keys := array(select distinct h.order_key from onceward.held h
    where h.id = any (gone) and h.order_key is not null);
  perform onceward.unblock_keys(of_id, keys);
  update onceward.redrive_row set outcome = 'parked again'
    where held_id = any (gone) and state = 'moved' and outcome is null;
  if cardinality(gone) > 0 then
    perform onceward.audit_entry('schema release', 'done', of_consumer, 'unknown_schema', reason,
      jsonb_build_object('rows', cardinality(gone))); end if;
  return jsonb_build_object('ok', true, 'released', cardinality(gone));
end $$;
revoke execute on function onceward.release_unknown_schemas from public;

do $$ begin
  if exists (select from pg_roles where rolname = 'onceward_run')
    and has_schema_privilege('onceward_run', 'onceward', 'usage') then
    perform onceward.create_roles(); end if;
end $$;
`
